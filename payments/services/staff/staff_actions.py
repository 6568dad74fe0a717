"""Staff actions that move money, and their permissions.

An action is a value, so it can be performed at once, or stored as a proposal and performed when it is confirmed
(`four_eyes`). Every action checks the required state under a lock when it is performed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from ledger import services as ledger
from merchants.audit import Actor
from merchants.models import Business
from payments.models import CardOperation, InvalidState, Proposal, SettlementBatch, Transaction
from payments.services.payouts import payout_returns
from payments.services.settlement import batch_decisions
from payments.services.staff import resolutions
from payments.services.state_descriptions import described
from payments.services.transfers import unapplied_decisions
from payments.settlement_transitions import BATCH_TRANSITIONS
from virtual_accounts.models import UnappliedMoney

Action = Proposal.Action
AfterCommit = Callable[[], object]  # calls a rail, so it must run outside a database transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class StaffAction:
    """An action with its target. Amounts are minor units."""

    kind: Proposal.Action
    target: UUID
    business: Business
    currency: str
    amount: int
    reason: str
    evidence: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


PERMISSIONS: dict[str, str] = {
    Action.TOP_UP: "ledger.add_entry",
    Action.APPROVE_BATCH: "payments.decide_settlementbatch",
    Action.RELEASE_BATCH: "payments.decide_settlementbatch",
    Action.CREDIT_UNAPPLIED: "virtual_accounts.change_unappliedmoney",
    Action.RETURN_UNAPPLIED: "virtual_accounts.change_unappliedmoney",
    Action.REVERSE_PAYOUT: "payments.add_payoutreturn",
    Action.RESOLVE_TRANSACTION: "payments.resolve_unknown",
    Action.RESOLVE_OPERATION: "payments.resolve_unknown",
}


def top_up(*, business: Business, currency: str, amount: int, cause: UUID, reason: str) -> StaffAction:
    return StaffAction(
        kind=Action.TOP_UP, target=cause, business=business, currency=currency, amount=amount, reason=reason
    )


def batch_decision(batch: SettlementBatch, kind: Proposal.Action, *, reason: str) -> StaffAction:
    """Return the approval or release of a batch.

    :raises InvalidState: the batch's state doesn't allow it.
    """
    after = {Action.APPROVE_BATCH: "approved", Action.RELEASE_BATCH: "released"}[kind]
    if after not in BATCH_TRANSITIONS[batch.state]:
        raise InvalidState(f"A batch that is {batch.state} cannot become {after}.")
    return StaffAction(
        kind=kind,
        target=batch.pk,
        business=batch.business,
        currency=batch.currency,
        amount=batch.net,
        reason=reason,
    )


def unapplied_decision(
    money: UnappliedMoney,
    kind: Proposal.Action,
    *,
    reason: str,
    account_number: str = "",
    bank_code: str = "",
) -> StaffAction:
    """Return the credit or return of unapplied money.

    :raises NotOpen: it was already decided.
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
    )


def payout_reversal(payout: Transaction, *, reason: str) -> StaffAction:
    """Return the reversal of a payout.

    :raises InvalidState: it isn't a successful payout.
    """
    if not payout_returns.can_be_reversed(payout):
        raise InvalidState(f"Only a successful payout can be reversed. {described(payout)}")
    amount = payout_returns.amount_left(payout)
    return _about(payout, Action.REVERSE_PAYOUT, target=payout.pk, amount=amount, reason=reason)


def resolution(
    subject: Transaction | CardOperation, *, succeeded: bool, reason: str, evidence: str
) -> StaffAction:
    """Return the resolution of an unknown outcome.

    :raises OutcomeKnown: the outcome is known.
    """
    if isinstance(subject, CardOperation):
        kind, transaction = Action.RESOLVE_OPERATION, subject.transaction
        is_unknown = subject.status == CardOperation.Status.PENDING
    else:
        kind, transaction = Action.RESOLVE_TRANSACTION, subject
        is_unknown = resolutions.is_unknown(subject)
    if not is_unknown:
        raise resolutions.OutcomeKnown
    return _about(
        transaction,
        kind,
        target=subject.pk,
        amount=subject.amount,
        reason=reason,
        evidence=evidence,
        parameters={"outcome": "succeeded" if succeeded else "failed"},
    )


def perform(action: StaffAction, *, actor: Actor, now: datetime) -> AfterCommit | None:
    """Perform an action in the caller's transaction. If it returns a function, call that after the commit.

    :raises Problem: the state doesn't allow it, or no longer does.
    """
    return _PERFORM[action.kind](action, actor, now)


def _about(
    transaction: Transaction,
    kind: Proposal.Action,
    *,
    target: UUID,
    amount: int,
    reason: str,
    evidence: str = "",
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
    )


def _top_up(action: StaffAction, actor: Actor, now: datetime) -> None:
    is_new = ledger.top_up(
        business=action.business,
        currency=action.currency,
        amount=action.amount,
        reason=action.reason,
        cause=action.target,
        actor=actor,
        now=now,
    )
    if not is_new:
        raise InvalidState("This top-up was already booked.")


def _approve_batch(action: StaffAction, actor: Actor, now: datetime) -> None:
    batch_decisions.approve(action.target, reason=action.reason, actor=actor, now=now)


def _release_batch(action: StaffAction, actor: Actor, now: datetime) -> None:
    batch_decisions.release(action.target, reason=action.reason, actor=actor, now=now)


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
    return action.parameters["outcome"] == "succeeded"


_PERFORM: dict[str, Callable[[StaffAction, Actor, datetime], AfterCommit | None]] = {
    Action.TOP_UP: _top_up,
    Action.APPROVE_BATCH: _approve_batch,
    Action.RELEASE_BATCH: _release_batch,
    Action.CREDIT_UNAPPLIED: _credit_unapplied,
    Action.RETURN_UNAPPLIED: _return_unapplied,
    Action.REVERSE_PAYOUT: _reverse_payout,
    Action.RESOLVE_TRANSACTION: _resolve_transaction,
    Action.RESOLVE_OPERATION: _resolve_operation,
}
