"""Close the business day of one business in the sandbox: settle its payments now and decide on the batches."""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum

from django.db import transaction as database

from kit.db.clock import database_now
from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import SettlementBatch, Transaction
from payments.models.settlement.batches import SANDBOX as SANDBOX_NAME
from payments.rules.settlement import business_days
from payments.services.sandbox import sandbox_turns
from payments.services.settlement.batches import batch_decisions, batch_funds, batch_transitions, batches

ACTION = "sandbox.day_closed"
SANDBOX = Actor(name=SANDBOX_NAME)  # makes the decisions of staff
REASON = "Rejected in the sandbox"


class DayState(StrEnum):
    """The state that the batches end in."""

    PENDING = "pending"
    APPROVED = "approved"
    RELEASED = "released"
    REJECTED = "rejected"


Decision = Callable[[SettlementBatch, datetime], SettlementBatch]


def _approve(batch: SettlementBatch, now: datetime) -> SettlementBatch:
    """Approve a batch, also if its money must arrive and hasn't: the sandbox counts as two people."""
    funds = batch_funds.required_of(batch)
    if funds is not None and funds.missing:
        return batch_decisions.approve_unfunded(
            batch.pk, proposed_by=SANDBOX.name, actor=SANDBOX, now=now, reason="Advanced in the sandbox"
        )
    return batch_decisions.approve(batch.pk, actor=SANDBOX, now=now)


def _release(batch: SettlementBatch, now: datetime) -> SettlementBatch:
    return batch_decisions.release(batch.pk, actor=SANDBOX, now=now)


def _reject(batch: SettlementBatch, now: datetime) -> SettlementBatch:
    return batch_decisions.reject(batch.pk, reason=REASON, actor=SANDBOX, now=now)


DECISIONS: dict[DayState, tuple[Decision, ...]] = {
    DayState.PENDING: (),
    DayState.APPROVED: (_approve,),
    DayState.RELEASED: (_approve, _release),
    DayState.REJECTED: (_reject,),
}


def close_day(business: Business, to: DayState, *, actor: Actor) -> list[SettlementBatch]:
    """Put every successful payment without a batch into batches of its business day, and decide on these.

    Includes today and batches that a killed run has begun, and no other business. Releasing also takes the batches that wait
    at `pending`. Returns the batches. Payments of
    rejected batches can be settled again, so of simultaneous rejections only one finds any.
    """
    made, closed_at = _close(business, to, actor=actor)
    if made and to is DayState.REJECTED:
        sandbox_turns.end(closed_at)
    return made


@database.atomic
def _close(business: Business, to: DayState, *, actor: Actor) -> tuple[list[SettlementBatch], datetime]:
    """Settle and decide in one transaction: payments are locked by all steps before any account is."""
    Business.objects.select_for_update(no_key=True).get(pk=business.pk)  # one call at a time
    now = database_now()
    if sandbox_turns.is_taken(business, action=ACTION, target=DayState.REJECTED, now=now):
        return [], now
    waiting = _waiting(business) if to is DayState.RELEASED else []
    made = [*waiting, *_settle(business, now=now)]
    for decide in DECISIONS[to]:
        made = [decide(batch, now) for batch in made]
        batch_transitions.finish_updates(SettlementBatch.objects.filter(pk__in=[batch.pk for batch in made]))
    closed_at = database_now()
    if made:
        audit.record(
            action=ACTION,
            actor=actor,
            business=business,
            target=to,
            after={"batches": len(made)},
            now=closed_at,
        )
    return made, closed_at


def _waiting(business: Business) -> list[SettlementBatch]:
    """Return the batches that an earlier call has left to be approved."""
    waiting = SettlementBatch.objects.filter(business=business, state=Transaction.SettleStatus.PENDING)
    return list(waiting.order_by("currency", "day", "pk"))


def _settle(business: Business, *, now: datetime) -> list[SettlementBatch]:
    """Return the new batches by currency and day. Every call takes the accounts of the currencies in this order."""
    work = batches.due(until=business_days.business_day(now), business=business)
    steps = batches.settle(work, actor=SANDBOX.name, now=now, business=business)
    made = {step.batch.pk: step.batch for step in steps}
    return sorted(made.values(), key=lambda batch: (batch.currency, batch.day, batch.number))
