"""The collection of a debt from the reserve, as an action of staff: what is held back covers what the business owes."""

from datetime import datetime
from functools import partial

from django.db import transaction as database

from kit.money.money import money
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import Debt, InvalidState, Proposal
from payments.services.settlement import debt_mail, debts, reserves
from payments.services.staff.staff_action import StaffAction


class NothingToCollect(InvalidState):
    default_detail = "This business owes nothing, or nothing is in its reserve."


def collection(debt: Debt, *, reason: str) -> StaffAction:
    """Return the collection of as much as is owed and in reserve now.

    :raises DebtEnded: the business doesn't owe any more
    :raises NothingToCollect: it owes nothing, or nothing is in reserve
    """
    debts.require_open(debt)
    owed, held = reserves.owed_and_held(debt.business_id, debt.currency)
    if not min(owed, held):
        raise NothingToCollect
    return _collection(
        debt,
        min(owed, held),
        reason=reason,
        parameters={"owed": money(owed, debt.currency), "reserve": money(held, debt.currency)},
    )


def lock_and_make(action: StaffAction) -> StaffAction:
    """Lock the debt, and make the same action again. Its amount is checked under the locks of the accounts."""
    debt = debts.lock_open(action.target)
    return _collection(debt, action.amount, reason=action.reason, parameters=dict(action.parameters))


def perform(action: StaffAction, actor: Actor, now: datetime) -> None:
    """Move the amount from the reserve to the wallet, and tell the business.

    :raises InvalidState: it owes less meanwhile, or less is in reserve
    """
    business, amount, currency = action.owner, action.amount, action.currency
    reserves.collect(business.pk, currency, amount, note=action.reason, now=now)
    audit.record(
        action="reserve.collected",
        actor=actor,
        business=business,
        target=currency,
        after={"amount": amount, "currency": currency, "reason": action.reason},
        now=now,
    )
    notify = partial(debt_mail.mail_collected, business, amount, currency, reason=action.reason)
    database.on_commit(notify, robust=True)


def _collection(debt: Debt, amount: int, *, reason: str, parameters: dict[str, str]) -> StaffAction:
    return StaffAction(
        kind=Proposal.Action.COLLECT_RESERVE,
        target=debt.pk,
        business=debt.business,
        currency=debt.currency,
        amount=amount,
        reason=reason,
        parameters=parameters,
        made_about={"owing_since": debt.since.isoformat()},
    )
