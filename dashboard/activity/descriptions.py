"""Descriptions of audit trail entries.

>>> description("api_key.created", target="pk_sandbox_1", before={}, after={"name": "till", "access": "full"})
'created the API key “till” (pk_sandbox_1)'
>>> description("fee.agreed", target="card", before={}, after={})
'fee agreed (card)'
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from merchants.people.audit_values import shown, with_money
from payments.models import Proposal

FACTOR_NAMES = {
    "totp": "an authenticator app",
    "webauthn": "a passkey",
    "recovery_codes": "recovery codes",
}

# The description of each action. Placeholders are {target} and the names in `after` or `before`.
DESCRIPTIONS = {
    "card_number.guesses_stopped": "used the reference {target} with 5 different cards. It is no longer compared with any card",
    "business.created": "created the business “{name}”",
    "business.settings_changed": "changed the settings of the business",
    "business.changed": "changed the business {target}",
    "business.closed": "closed the business",
    "business.reopened": "reopened the business",
    "business.closing_requested": "requested to close the business",
    "business.closing_withdrawn": "withdrew the request to close the business",
    "api_key.created": "created the API key “{name}” ({target})",
    "api_key.expiry_set": "set the expiry of the API key {target}",
    "api_key.revoked": "revoked the API key {target}",
    "webhook.configured": "changed the webhook settings",
    "webhook.endpoint_deleted": "deleted the webhook endpoint {url}",
    "webhook.key_rotated": "rotated the webhook signing key",
    "provider_event.processed_again": "processed an event of the provider again",
    "webhook.replayed": "resent webhook deliveries",
    "webhook.test_sent": "sent a test event to the webhook endpoint",
    "webhook.exam_started": "started an exam of the webhook receiver",
    "payment.capture_asked": "requested the capture of the payment {target}",
    "payment.void_asked": "requested the void of the payment {target}",
    "payment.cancel_asked": "requested the cancellation of the payment {target}",
    "payment.refund_asked": "requested a refund of the payment {target}",
    "payment.note_added": "added a note to the payment {target}",
    "payout.note_added": "added a note to the payout {target}",
    "card_check.note_added": "added a note to the card check {target}",
    "payout.asked": "requested the payout {target}",
    "payout.approved": "approved the payout {target}",
    "payout.rejected": "rejected the payout {target}",
    "payout.expired": "ended the payout {target}",
    "payout.cancelled": "cancelled the payout {target}",
    "payout.reversed": "recorded that the bank returned the payout {target}",
    "payout_batch.created": "created the payout batch {target}",
    "payout_batch.item_corrected": "corrected a row of the payout batch {target}",
    "payout_batch.item_removed": "removed a row of the payout batch {target}",
    "payout_batch.items_accepted": "accepted rows of the payout batch {target} in spite of its checks",
    "payout_batch.approval_requested": "asked members to approve the payout batch {target}",
    "payout_batch.approved_by_member": "approved the payout batch {target} as another member",
    "payout_batch.changed_after_approval": "stopped the payout batch {target}, which had changed after its approval",
    "payout_batch.approved": "released the payout batch {target}",
    "payout_batch.scheduled": "scheduled the payout batch {target}",
    "payout_batch.rejected": "rejected the payout batch {target}",
    "payout_batch.expired": "cancelled the payout batch {target}",
    "payout_batch.cancelled": "cancelled the payout batch {target}",
    "payout_batch.advanced": "advanced the payout batch {target} in the sandbox",
    "beneficiary.created": "saved the beneficiary {target}",
    "beneficiary.changed": "changed the beneficiary {target}",
    "beneficiary.deleted": "deleted the beneficiary {target}",
    "beneficiary.blocked": "blocked the beneficiary {target}",
    "beneficiary.unblocked": "lifted the block of the beneficiary {target}",
    "payout_controls.changed": "changed limits and approval of payouts",
    "payout_controls.change_asked": "asked to change limits and approval of payouts",
    "payout_controls.change_withdrawn": "withdrew a change of limits and approval of payouts",
    "payout_controls.capped": "set the highest limits of payouts",
    "payouts.frozen": "froze the payouts of the business",
    "payouts.unfrozen": "lifted the freeze of payouts",
    "virtual_account.created": "created the virtual account {target}",
    "virtual_account.deactivated": "deactivated the virtual account {target}",
    "virtual_account.activated": "activated the virtual account {target}",
    "payment_link.created": "created the payment link {target}",
    "payment_link.changed": "changed the payment link {target}",
    "payment_link.deactivated": "deactivated the payment link {target}",
    "payment_link.activated": "activated the payment link {target}",
    "payment_link.attempt_ended": "ended the transfer {payment} of the payment link {target}",
    "payment_link.blocked": "blocked the payment link {target}",
    "payment_link.unblocked": "lifted the block of the payment link {target}",
    "unapplied.accepted": "accepted a short transfer for its payment, and credited it to the balance",
    "unapplied.credited": "credited an unapplied transfer to the balance",
    "unapplied.returned": "returned an unapplied transfer to its sender by the payout {reference}",
    "unclaimed_transfer.resolved": "resolved the unclaimed transfer {target}",
    "unclaimed_transfer.assigned": "assigned a transfer to an unknown number to account {account_number}",
    "unclaimed_transfer.written_off": "wrote off the unclaimed transfer {target}",
    "payout_return.matched": "matched a return of the bank to its payout",
    "payout_return.written_off": "wrote off the payout return {target}",
    "dispute_report.assigned": "assigned the dispute {case_number} to the payment {payment}",
    "dispute_report.credited": "credited what the acquirer gave back of the dispute {case_number}",
    "dispute_report.dismissed": "dismissed the report of a dispute {case_number}",
    "dispute.submitted": "submitted the answer to a dispute",
    "dispute.closed": "submitted the answer to a dispute, which was closed at once",
    "dispute.accepted": "accepted a dispute",
    "dispute.debited": "recorded that the acquirer has debited the dispute {case_number}",
    "unknown.resolved": "resolved the unknown outcome of {target} as {resolved_as}",
    "refund.account_given": "gave the provider the account of {account_name} for the refund {target}",
    "return.account_given": "gave the provider the account of {account_name} for the return {target}",
    "user.changed": "changed the rights of {target}",
    "group.changed": "changed the rights of the group {target}",
    "proposal.opened": "proposed to a second operator: {proposed}",
    "proposal.confirmed": "confirmed the proposal {target}",
    "proposal.declined": "declined the proposal {target}",
    "proposal.expired": "closed the expired proposal {target}",
    "sandbox.advanced": "advanced the payment {target} in the sandbox ({advanced})",
    "sandbox.event_advanced": "made attempt {attempt} of the event {target} in the sandbox",
    "sandbox.day_closed": "settled everything in the sandbox ({target})",
    "wallet.topped_up": "topped up the balance",
    "journal.booked": "corrected the balances of the business",
    "sandbox.reserve_returned": "returned the reserve of the settlement {target} in the sandbox",
    "settlement_account.change_asked": "asked to change the settlement account in {target}",
    "settlement_account.change_confirmed": "confirmed the change of the settlement account in {target}",
    "settlement_account.change_stopped": "stopped the change of the settlement account in {target}",
    "settlement_account.changed": "changed the settlement account in {target}",
    "settlement_payouts.changed": "changed the schedule of settlement payouts in {target}",
    "settlement_payouts.paused": "paused settlement payouts in {target}",
    "settlement_payouts.resumed": "resumed settlement payouts in {target}",
    "settlement_payout.made": "paid out to the settlement account",
    "guest_link.created": "created the guest link “{target}” for the statements of {months}, for {days} days",
    "guest_link.revoked": "revoked the guest link “{target}”",
    "guest_link.opened": "opened the guest link “{target}” for the first time",
    "holiday.changed": "changed the holiday {target}",
    "sandbox.settlement_account_advanced": "ended the wait of the settlement account in {target} in the sandbox",
    "settlement_batch.pending": "sent a settlement batch to the bank",
    "settlement_batch.approved": "approved a settlement batch",
    "settlement_batch.released": "released a settlement batch into the balance",
    "settlement_batch.rejected": "rejected a settlement batch",
    "reconciliation.recorded": "compared a bank's file with the ledger",
    "breaks.matched": "matched {target}",
    "break.changed": "changed the owner or notes of a break",
    "statement.imported": "imported a statement of {target}",
    "bank_account.changed": "changed the bank account {target}",
    "account.declared": "declared two accounts of a connector to be the same",
    "connectors.chosen": "changed the payment connectors",
    "rail.unblocked": "unblocked the account {target}",
    "tariff.agreed": "agreed the fee of {flow}",
    "tariff.withdrawn": "ended the agreed fee of {flow}",
    "reserve.collected": "set a part of the reserve in {target} off against what the business owed",
    "debt.invoiced": "recorded an invoice for what the business owes in {target}",
    "risk_terms.agreed": "agreed the reserve and the limit of debts in {target}",
    "session.signed_in": "signed in",
    "session.signed_out": "signed out",
    "session.sign_in_failed": "failed to sign in: wrong password",
    "session.confirmation_failed": "entered a wrong password when confirming their identity",
    "session.ended": "ended a session on another device",
    "session.others_ended": "ended all other sessions",
    "second_factor.added": "set up {factor}",
    "second_factor.removed": "removed {factor}",
    "second_factor.renewed": "generated new recovery codes",
    "second_factor.failed": "entered a wrong code",
    "second_factor.reset": "removed the second factors of {target} and ended their sessions",
    "password.changed": "changed their password",
    "password.reset": "reset their password by email",
    "member.invited": "invited {target} as {role}",
    "member.invitation_withdrawn": "cancelled the invitation for {target}",
    "member.invitation_ended": "ended the invitation for {target} from {invited_by}",
    "member.joined": "joined as {role}",
    "member.role_changed": "changed the role of {target}",
    "member.removed": "removed {target} from the team",
}

# Names of changed values, if they aren't words.
VALUE_NAMES = {
    "url": "URL",
    "id": "ID",
    "api_version": "API version",
    "standard_webhooks": "Standard Webhooks headers",
    "made_by_api": "made with an API key",
}

# Actions whose description mentions every changed value.
COMPLETE = frozenset(
    {
        "api_key.created",
        "business.created",
        "card_number.guesses_stopped",
        "guest_link.created",
        "member.invitation_ended",
        "member.invited",
        "member.joined",
        "member.removed",
        "sandbox.advanced",
        "webhook.endpoint_deleted",
    }
)
# Values that only programs read: identifiers, and amounts without their currency. The subject's page shows them to people.
LEFT_OUT = {
    "proposal.opened": {"action", "target", "parameters", "made_about", "evidence"},
    "dispute.submitted": {"submit"},
    "dispute.closed": {"submit"},
    "dispute.accepted": {"accept"},
}
PROPOSED = dict(Proposal.Action.choices)


class _Names(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "no name" if name == "name" else ""


@dataclass(frozen=True, slots=True)
class Change:
    """A value before and after."""

    name: str
    was: str
    now: str


def description(action: str, *, target: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return what was done, without the actor."""
    pattern = DESCRIPTIONS.get(action)
    if pattern is None:
        words = action.replace(".", " ").replace("_", " ")
        return f"{words} ({target})" if target else words
    values = {name: shown(value) for name, value in {**before, **after}.items() if value != ""}
    derived = {
        "target": target,
        "factor": FACTOR_NAMES.get(target, target),
        "flow": target.replace("_", " "),
        "proposed": PROPOSED.get(values.get("action", ""), "a decision").lower(),
    }
    return pattern.format_map(_Names(values | derived))


def changes(action: str, *, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """Return the changed values that the description doesn't mention."""
    if action in COMPLETE:
        return []
    before, after = with_money(before), with_money(after)
    return [
        Change(
            VALUE_NAMES.get(name, name.replace("_", " ")),
            shown(before.get(name)),
            shown(after.get(name)) or "none",
        )
        for name in {**before, **after}
        if before.get(name) != after.get(name) and name not in LEFT_OUT.get(action, ())
    ]
