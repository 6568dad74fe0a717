"""Staff actions that move money or change rights, and their permissions.

An action is a value, so it can be performed at once, or stored as a proposal and performed when it is confirmed
(`four_eyes`). Every action checks under a lock that what it was made about is unchanged when it is performed.
"""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID, uuid5

from django.contrib.auth.models import AnonymousUser
from django.utils.module_loading import import_string

from kit.money.money import money
from merchants.models import Business, User
from merchants.people.audit import Actor
from payments.models import CardOperation, InvalidState, Proposal, SettlementBatch, Transaction
from payments.rules.settlement.settlement_transitions import BATCH_TRANSITIONS
from payments.services import return_matching
from payments.services.payouts import payout_returns
from payments.services.payouts.controls import payout_freezes
from payments.services.settlement.batches import batch_decisions, batch_funds, batch_transitions
from payments.services.staff import made_about
from payments.services.staff.actions import (
    account_declarations,
    break_matches,
    business_closing,
    debt_collection,
    journal_actions,
    refund_accounts,
    resolutions,
    rights,
    suspense_actions,
)
from payments.services.staff.made_about import MadeAbout
from payments.services.staff.staff_action import AfterCommit, Handler, StaffAction
from payments.services.transactions.intents import lock
from payments.services.transactions.state_descriptions import described
from payments.services.transfers import unapplied_decisions
from virtual_accounts.models import UnappliedMoney
from virtual_accounts.services import unapplied_queries

Action = Proposal.Action


class Changed(InvalidState):
    """The decision could mean something else than its maker saw."""

    default_detail = (
        "What this was made about has changed, so it may mean something else. Nothing was done. "
        "Look at the present state and decide again."
    )


PERMISSIONS: dict[str, str] = {
    Action.TOP_UP: "ledger.add_entry",
    Action.JOURNAL: "payments.add_journal",
    Action.REVERSE_JOURNAL: "payments.add_journal",
    Action.APPROVE_BATCH: "payments.decide_settlementbatch",
    Action.APPROVE_UNFUNDED: "payments.decide_settlementbatch",
    Action.RELEASE_BATCH: "payments.decide_settlementbatch",
    Action.CREDIT_UNAPPLIED: "virtual_accounts.change_unappliedmoney",
    Action.RETURN_UNAPPLIED: "virtual_accounts.change_unappliedmoney",
    Action.REVERSE_PAYOUT: "payments.add_payoutreturn",
    Action.RESOLVE_TRANSACTION: "payments.resolve_unknown",
    Action.RESOLVE_OPERATION: "payments.resolve_unknown",
    Action.GIVE_ACCOUNT: "payments.resolve_unknown",
    Action.GIVE_RETURN_ACCOUNT: "payments.resolve_unknown",
    Action.ASSIGN_UNCLAIMED: "virtual_accounts.change_unclaimedtransfer",
    Action.WRITE_OFF_UNCLAIMED: "virtual_accounts.change_unclaimedtransfer",
    Action.MATCH_RETURN: "payments.add_payoutreturn",
    Action.WRITE_OFF_RETURN: "payments.add_payoutreturn",
    **dict.fromkeys(
        [Action.ASSIGN_DISPUTE, Action.CREDIT_DISPUTE, Action.DISMISS_DISPUTE, Action.RECORD_DISPUTE_DEBIT],
        "disputes.settle_dispute",
    ),
    Action.CHANGE_USER: "merchants.change_user",
    Action.CHANGE_GROUP: "auth.change_group",
    Action.AGREE_FEE: "payments.add_tariff",
    Action.CHOOSE_CONNECTORS: "payments.change_railchoice",
    Action.CHANGE_BANK_ACCOUNT: "cash.change_bankaccount",
    Action.AGREE_RISK_TERMS: "payments.add_riskterms",
    Action.MATCH_BREAKS: "cash.add_match",
    Action.COLLECT_RESERVE: "payments.change_debt",
    Action.LIFT_FREEZE: "payments.change_payoutcontrols",
    Action.DECLARE_ACCOUNT: "payments.add_accountdeclaration",
    **dict.fromkeys(business_closing.ACTIONS, "merchants.change_business"),
}
OF_SUPERUSERS = {Action.CHANGE_USER, Action.CHANGE_GROUP}  # the permission alone isn't enough


def may_confirm(person: User | AnonymousUser, kind: str) -> bool:
    """Return whether a person has the right to an action that another one proposed."""
    return person.has_perm(PERMISSIONS[kind]) and (person.is_superuser or kind not in OF_SUPERUSERS)


def batch_decision(batch: SettlementBatch, kind: Proposal.Action, *, reason: str) -> StaffAction:
    """Return the approval or release of a batch.

    :raises InvalidState: the batch's state doesn't allow it
    :raises FundsArrived: it is an approval without its money, and nothing is missing
    """
    after = _AFTER[kind]
    if after not in BATCH_TRANSITIONS[batch.state]:
        raise InvalidState(f"A batch that is {batch.state} cannot become {after}.")
    funds = batch_funds.required_of(batch)
    missing = money(funds.missing, batch.currency) if funds and funds.missing else ""
    if kind == Action.APPROVE_UNFUNDED and not missing:
        raise batch_funds.FundsArrived
    is_exception = bool(missing) and kind != Action.APPROVE_BATCH
    return StaffAction(
        kind=kind,
        target=batch.pk,
        business=batch.business,
        currency=batch.currency,
        amount=batch.net,
        reason=reason,
        parameters={"missing": missing} if missing else {},
        made_about=made_about.batch(batch, funds),
        is_exception=is_exception,
    )


_AFTER = {
    Action.APPROVE_BATCH: "approved",
    Action.APPROVE_UNFUNDED: "approved",
    Action.RELEASE_BATCH: "released",
}


def unapplied_decision(
    money: UnappliedMoney,
    kind: Proposal.Action,
    *,
    reason: str,
    account_number: str = "",
    bank_code: str = "",
) -> StaffAction:
    """Return the credit or return of unapplied money.

    :raises NotOpen: it was already decided
    :raises SenderKnown: a return names an account although the bank named the sender's
    :raises SenderUnknown: neither the return nor the bank names an account
    """
    if not money.is_open:
        raise unapplied_decisions.NotOpen
    if kind == Action.RETURN_UNAPPLIED:
        unapplied_decisions.require_destination(
            money.transfer, account_number=account_number, bank_code=bank_code
        )
    named = {"account_number": account_number, "bank_code": bank_code}
    return StaffAction(
        kind=kind,
        target=money.pk,
        business=money.business,
        currency=money.currency,
        amount=money.amount,
        reason=reason,
        parameters={name: value for name, value in named.items() if value},
        made_about=made_about.unapplied(money),
    )


def payout_reversal(payout: Transaction, *, reason: str) -> StaffAction:
    """Return the reversal of a payout.

    :raises InvalidState: it isn't a successful payout
    """
    if not payout_returns.can_be_reversed(payout):
        raise InvalidState(f"Only a successful payout can be reversed. {described(payout)}")
    amount = return_matching.amount_left(payout)
    about = made_about.transaction(payout)
    return _about(payout, Action.REVERSE_PAYOUT, target=payout.pk, amount=amount, reason=reason, about=about)


def lift_freeze(business: Business, *, reason: str) -> StaffAction:
    """Return the lifting of a freeze of payouts.

    :raises InvalidState: they aren't frozen, or the business is closed
    """
    controls, frozen_at = payout_freezes.frozen_controls(business.pk)
    return StaffAction(
        kind=Action.LIFT_FREEZE,
        target=uuid5(business.pk, "freeze"),  # not the business: a closing is proposed beside it
        business=business,
        reason=reason,
        parameters={"id": str(business.pk), "name": business.name},
        made_about={"frozen_at": frozen_at.isoformat(), "frozen_because": controls.freeze_reason},
    )


def resolution(
    subject: Transaction | CardOperation, *, succeeded: bool, reason: str, evidence: str
) -> StaffAction:
    """Return the resolution of an unknown outcome.

    :raises OutcomeKnown: the outcome is known
    :raises ApprovedInPart: the acquirer approved a part, which can't become the payment
    """
    if isinstance(subject, CardOperation):
        kind, transaction, about = (
            Action.RESOLVE_OPERATION,
            subject.transaction,
            made_about.operation(subject),
        )
        if subject.status != CardOperation.Status.PENDING:
            raise resolutions.OutcomeKnown
    else:
        kind, transaction, about = Action.RESOLVE_TRANSACTION, subject, made_about.transaction(subject)
        resolutions.require_resolvable(subject, succeeded=succeeded)
    return _about(
        transaction,
        kind,
        target=subject.pk,
        amount=subject.amount,
        reason=reason,
        evidence=evidence,
        parameters={"outcome": "succeeded" if succeeded else "failed"},
        about=about,
    )


def perform(action: StaffAction, *, actor: Actor, now: datetime) -> AfterCommit | None:
    """Perform an action in the caller's transaction. If it returns a function, call that after the commit.

    :raises Changed: what it was made about has changed
    :raises Problem: the state doesn't allow it, or no longer does
    """
    handler = _HANDLERS[action.kind]
    made_now = handler.lock_and_make(action)
    if made_now.made_about != action.made_about:
        changes = made_about.differences(action.made_about, made_now.made_about, action.currency)
        raise Changed(f"{Changed.default_detail} Since then: {changes}.")
    return handler.perform(action, actor, now)


def _about(
    transaction: Transaction,
    kind: Proposal.Action,
    *,
    target: UUID,
    amount: int,
    reason: str,
    evidence: str = "",
    about: MadeAbout,
    parameters: Mapping[str, str] | None = None,
) -> StaffAction:
    return StaffAction(
        kind=kind,
        target=target,
        business=transaction.business,
        currency=transaction.currency,
        amount=amount,
        reason=reason,
        evidence=evidence,
        parameters=parameters or {},
        made_about=about,
    )


def _lock_batch(action: StaffAction) -> StaffAction:
    return batch_decision(batch_transitions.lock(action.target), action.kind, reason=action.reason)


def _lock_unapplied(action: StaffAction) -> StaffAction:
    locked = unapplied_queries.lock(action.target)
    return unapplied_decision(locked, action.kind, reason=action.reason, **action.parameters)


def _lock_payout(action: StaffAction) -> StaffAction:
    return payout_reversal(lock(action.target), reason=action.reason)


def _lock_transaction(action: StaffAction) -> StaffAction:
    return resolution(
        lock(action.target), succeeded=_succeeded(action), reason=action.reason, evidence=action.evidence
    )


def _lock_operation(action: StaffAction) -> StaffAction:
    transaction = lock(CardOperation.objects.values_list("transaction_id", flat=True).get(pk=action.target))
    operation = CardOperation.objects.select_for_update().get(pk=action.target)
    operation.transaction = transaction
    return resolution(operation, succeeded=_succeeded(action), reason=action.reason, evidence=action.evidence)


def _lock_freeze(action: StaffAction) -> StaffAction:
    payout_freezes.lock_frozen(action.owner.pk)
    return lift_freeze(action.owner, reason=action.reason)


def _approve_batch(action: StaffAction, actor: Actor, now: datetime) -> None:
    batch_decisions.approve(action.target, reason=action.reason, actor=actor, now=now)


def _approve_unfunded(action: StaffAction, actor: Actor, now: datetime) -> None:
    batch_decisions.approve_unfunded(
        action.target, proposed_by=action.proposed_by, reason=action.reason, actor=actor, now=now
    )


def _release_batch(action: StaffAction, actor: Actor, now: datetime) -> None:
    batch_decisions.release(
        action.target, proposed_by=action.proposed_by, reason=action.reason, actor=actor, now=now
    )


def _credit_unapplied(action: StaffAction, actor: Actor, now: datetime) -> None:
    unapplied_decisions.credit(action.target, reason=action.reason, actor=actor, now=now)


def _return_unapplied(action: StaffAction, actor: Actor, now: datetime) -> AfterCommit:
    opened = unapplied_decisions.open_return(
        action.target, reason=action.reason, actor=actor, now=now, **action.parameters
    )
    return opened.send


def _reverse_payout(action: StaffAction, actor: Actor, now: datetime) -> None:
    if not payout_returns.reverse(
        transaction_id=action.target, amount=action.amount, reason=action.reason, actor=actor, now=now
    ):
        raise InvalidState("This payout was already reversed.")


def _lift_freeze(action: StaffAction, actor: Actor, now: datetime) -> None:
    payout_freezes.lift(action.owner, reason=action.reason, actor=actor, now=now)


def _resolve_transaction(action: StaffAction, actor: Actor, now: datetime) -> None:
    resolutions.resolve_transaction(
        action.target,
        succeeded=_succeeded(action),
        reason=action.reason,
        evidence=action.evidence,
        actor=actor,
        now=now,
    )


def _resolve_operation(action: StaffAction, actor: Actor, now: datetime) -> None:
    resolutions.resolve_operation(
        action.target,
        succeeded=_succeeded(action),
        reason=action.reason,
        evidence=action.evidence,
        actor=actor,
        now=now,
    )


def _succeeded(action: StaffAction) -> bool:
    return bool(action.parameters["outcome"] == "succeeded")


_HANDLERS: dict[Proposal.Action, Handler] = {
    **journal_actions.HANDLERS,
    Action.APPROVE_BATCH: Handler(_lock_batch, _approve_batch),
    Action.APPROVE_UNFUNDED: Handler(_lock_batch, _approve_unfunded),
    Action.RELEASE_BATCH: Handler(_lock_batch, _release_batch),
    Action.CREDIT_UNAPPLIED: Handler(_lock_unapplied, _credit_unapplied),
    Action.RETURN_UNAPPLIED: Handler(_lock_unapplied, _return_unapplied),
    Action.REVERSE_PAYOUT: Handler(_lock_payout, _reverse_payout),
    Action.RESOLVE_TRANSACTION: Handler(_lock_transaction, _resolve_transaction),
    Action.RESOLVE_OPERATION: Handler(_lock_operation, _resolve_operation),
    **dict.fromkeys(refund_accounts.ACTIONS, Handler(refund_accounts.lock_and_make, refund_accounts.perform)),
    **suspense_actions.HANDLERS,
    # By name: the app of disputes is above this one.
    **import_string("disputes.services.reports.unmatched.HANDLERS"),
    **import_string("disputes.services.debits.HANDLERS"),
    **dict.fromkeys(rights.ACTIONS, Handler(rights.lock_and_make, rights.perform)),
    Action.LIFT_FREEZE: Handler(_lock_freeze, _lift_freeze),
    Action.DECLARE_ACCOUNT: Handler(account_declarations.make_again, account_declarations.perform),
    **dict.fromkeys(
        business_closing.ACTIONS, Handler(business_closing.lock_and_make, business_closing.perform)
    ),
    Action.MATCH_BREAKS: Handler(break_matches.lock_and_make, break_matches.perform),
    Action.COLLECT_RESERVE: Handler(debt_collection.lock_and_make, debt_collection.perform),
}
