"""Decisions about money in suspense: actions of staff whose targets are unclaimed transfers and payout returns."""

from datetime import datetime
from uuid import UUID

from merchants.models import Business
from merchants.people.audit import Actor
from payments.models import InvalidState, PayoutReturn, Proposal, Transaction
from payments.services.payouts import payout_returns
from payments.services.refunds import refused_returns
from payments.services.staff.made_about import MadeAbout
from payments.services.staff.staff_action import Handler, StaffAction
from payments.services.transactions.intents import lock
from payments.services.transfers import unclaimed_decisions
from virtual_accounts.models import UnclaimedTransfer
from virtual_accounts.services import transfer_matching

Action = Proposal.Action


def assignment(unclaimed: UnclaimedTransfer, *, account_number: str, reason: str) -> StaffAction:
    """Return the assignment of an unclaimed transfer to the holder of an account number.

    :raises InvalidState: it isn't open, or can't be assigned
    :raises UnknownAccount: no account has or had the number
    """
    unclaimed_decisions.require_open(unclaimed)
    unclaimed_decisions.require_assignable(unclaimed)
    account = transfer_matching.account_of(account_number)
    return _about(
        unclaimed,
        Action.ASSIGN_UNCLAIMED,
        reason=reason,
        business=account.business,
        parameters={"account_number": account_number},
        made_about={**suspense(unclaimed), "account": account.reference},
    )


def write_off(money: UnclaimedTransfer | PayoutReturn, *, reason: str) -> StaffAction:
    """Return the write-off of money in suspense.

    :raises InvalidState: it isn't open
    """
    if isinstance(money, UnclaimedTransfer):
        kind = Action.WRITE_OFF_UNCLAIMED
        unclaimed_decisions.require_open(money)
    else:
        kind = Action.WRITE_OFF_RETURN
        payout_returns.require_open(money)
    return _about(money, kind, reason=reason, made_about=suspense(money))


def return_match(payout_return: PayoutReturn, payout: Transaction, *, reason: str) -> StaffAction:
    """Return the match of a payout return to its payout.

    :raises InvalidState: it isn't open, or doesn't fit the payout
    """
    payout_returns.require_open(payout_return)
    payout_returns.require_match(payout_return, payout)
    return _about(
        payout_return,
        Action.MATCH_RETURN,
        reason=reason,
        business=payout.business,
        parameters={"payout": str(payout.pk)},
        made_about={
            **suspense(payout_return),
            "payout_reference": payout.reference,
            "payout_amount": payout.amount,
            "payout_returned": payout.amount_returned,
            "returns_unapplied_money": refused_returns.is_return(payout),
        },
    )


def suspense(money: UnclaimedTransfer | PayoutReturn) -> MadeAbout:
    """Return what every decision about a row depends on. Its amount never changes."""
    return {
        "is_open": money.is_open,
        "amount": money.amount,
        "is_in_suspense": money.is_bookable,
        "why": str(money.why),
    }


def find_payout(payout_id: UUID) -> Transaction:
    """Return a payout.

    :raises InvalidState: there is no such payout
    """
    payout = Transaction.objects.filter(pk=payout_id, request_type=Transaction.RequestType.PAYOUT)
    found = payout.select_related("business").first()
    if found is None:
        raise InvalidState("No payout has this ID.")
    return found


def _about(
    money: UnclaimedTransfer | PayoutReturn,
    kind: Proposal.Action,
    *,
    reason: str,
    made_about: MadeAbout,
    business: Business | None = None,
    parameters: dict[str, str] | None = None,
) -> StaffAction:
    return StaffAction(
        kind=kind,
        target=money.pk,
        business=business,
        currency=money.currency,
        amount=money.amount,
        reason=reason,
        parameters=parameters or {},
        made_about=made_about,
    )


def _lock_unclaimed(action: StaffAction) -> StaffAction:
    unclaimed = unclaimed_decisions.lock_open(action.target)
    if action.kind == Action.WRITE_OFF_UNCLAIMED:
        return write_off(unclaimed, reason=action.reason)
    return assignment(unclaimed, reason=action.reason, **action.parameters)


def _lock_return(action: StaffAction) -> StaffAction:
    if action.kind == Action.WRITE_OFF_RETURN:
        return write_off(payout_returns.lock_open(action.target), reason=action.reason)
    payout = lock(UUID(action.parameters["payout"]))
    return return_match(payout_returns.lock_open(action.target), payout, reason=action.reason)


def _assign(action: StaffAction, actor: Actor, now: datetime) -> None:
    unclaimed_decisions.assign(
        action.target, owner=action.owner, reason=action.reason, actor=actor, now=now, **action.parameters
    )


def _write_off_unclaimed(action: StaffAction, actor: Actor, now: datetime) -> None:
    unclaimed_decisions.write_off(action.target, reason=action.reason, actor=actor, now=now)


def _match(action: StaffAction, actor: Actor, now: datetime) -> None:
    payout_id = UUID(action.parameters["payout"])
    payout_returns.match(action.target, payout_id=payout_id, reason=action.reason, actor=actor, now=now)


def _write_off_return(action: StaffAction, actor: Actor, now: datetime) -> None:
    payout_returns.write_off(action.target, reason=action.reason, actor=actor, now=now)


HANDLERS = {
    Action.ASSIGN_UNCLAIMED: Handler(_lock_unclaimed, _assign),
    Action.WRITE_OFF_UNCLAIMED: Handler(_lock_unclaimed, _write_off_unclaimed),
    Action.MATCH_RETURN: Handler(_lock_return, _match),
    Action.WRITE_OFF_RETURN: Handler(_lock_return, _write_off_return),
}
