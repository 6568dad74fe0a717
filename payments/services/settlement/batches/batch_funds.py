"""Whether a batch's money has arrived at a bank, before it is approved. Where it must: `RELEASE_REQUIRES_FUNDS`.

A payment's money has arrived when a line of a statement is matched with it, at the amount that was captured or received. If
only a part has arrived, the other payments become a batch of their own, which waits. Lock order: batch, then its rest.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, Exists, Min, OuterRef, QuerySet, Sum

from kit.db.prepared_statements import insert_if_absent
from kit.money.money import money
from kit.time.time_ordered_ids import new_id
from payments.models import BatchTransition, InvalidState, SettlementBatch, SettlementItem, Transaction
from payments.rules.settlement.business_days import business_day
from payments.services.reconciliation.arrivals import has_arrived
from payments.services.settlement.batches import batches

PENDING, APPROVED = Transaction.SettleStatus.PENDING, Transaction.SettleStatus.APPROVED
ARRIVED = has_arrived("transaction__")


class FundsMissing(InvalidState):
    """None of a batch's money has arrived."""


class FundsArrived(InvalidState):
    default_detail = (
        "The money of this batch has arrived, or isn't required. Approve it without an exception."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Funds:
    """What has arrived of a batch's payments, before fees and refunds. Amounts are minor units."""

    expected: int
    missing: int
    missing_count: int  # payments
    missing_since: date | None  # the business day of the oldest of them

    @property
    def arrived(self) -> int:
        return self.expected - self.missing


def required_of(batch: SettlementBatch) -> Funds | None:
    """Return what has arrived of a batch whose money must arrive before it is approved, or was approved while it needn't.

    None if nothing must arrive.
    """
    waits = batch.state == PENDING or (batch.state == APPROVED and not batch.funds_required)
    return of(batch) if settings.RELEASE_REQUIRES_FUNDS and waits else None


def of(batch: SettlementBatch) -> Funds:
    """Return what has arrived of a complete batch, in one query about what is missing."""
    missing = _missing(batch).aggregate(
        amount=Sum("gross", default=0), count=Count("pk"), oldest=Min("transaction__finished_at")
    )
    return Funds(
        expected=batch.gross,
        missing=missing["amount"],
        missing_count=missing["count"],
        missing_since=business_day(missing["oldest"]) if missing["oldest"] else None,
    )


def require(batch: SettlementBatch, *, actor: str, now: datetime) -> None:
    """Check that money of a locked batch has arrived, and move payments whose money hasn't into a batch of their own.

    :raises FundsMissing: none has arrived
    """
    funds = required_of(batch)
    if funds is None:
        return
    if funds.missing and not funds.arrived:
        raise FundsMissing(
            f"None of its {money(funds.expected, batch.currency)} has arrived at a bank. Two people can approve it all the same."
        )
    if funds.missing:
        _split_off_missing(batch, actor=actor, now=now)
    _save_as_checked(batch)


def require_at_release(batch: SettlementBatch, *, proposed_by: str, confirmed_by: str) -> None:
    """Check the money of a locked batch that was approved while none had to arrive.

    It is approved as a whole, so it is released as a whole: without all its money, by two people.

    :raises FundsMissing: something is missing, and only one person releases it
    """
    funds = required_of(batch)
    if funds is None:
        return
    if not funds.missing:
        _save_as_checked(batch)
    elif proposed_by:
        take_exception(batch, proposed_by=proposed_by, confirmed_by=confirmed_by)
    else:
        raise FundsMissing(
            f"{money(funds.missing, batch.currency)} of it hasn't arrived at a bank. Two people can release it all the same."
        )


def _save_as_checked(batch: SettlementBatch) -> None:
    batch.funds_required = True
    batch.save(update_fields=["funds_required"])


def take_exception(batch: SettlementBatch, *, proposed_by: str, confirmed_by: str) -> None:
    """Record on a locked batch what hasn't arrived, and the two people who approve or release it all the same.

    :raises FundsArrived: nothing is missing
    """
    funds = required_of(batch)
    if funds is None or not funds.missing:
        raise FundsArrived
    batch.funds_required, batch.unfunded = True, funds.missing
    batch.unfunded_by, batch.unfunded_confirmed_by = proposed_by, confirmed_by
    batch.save(update_fields=["funds_required", "unfunded", "unfunded_by", "unfunded_confirmed_by"])


def _split_off_missing(batch: SettlementBatch, *, actor: str, now: datetime) -> None:
    """Move payments whose money hasn't arrived into a batch of the same day, with what is netted of them."""
    rest = _new_batch(batch, now=now)
    reason = f"Its money hadn't arrived when no. {batch.number} was approved"
    BatchTransition.objects.create(batch=rest, after=PENDING, actor=actor, reason=reason, at=now)
    missing = _missing(batch).filter(transaction=OuterRef("transaction"))
    batch.items.filter(Exists(missing)).update(batch=rest)
    for each in (batch, rest):
        batches.update_totals(each)


def _new_batch(batch: SettlementBatch, *, now: datetime) -> SettlementBatch:
    """Return a further batch of the same day. Concurrent runs may make others."""
    same = {"business_id": batch.business_id, "currency": batch.currency, "day": batch.day}
    while True:
        number = SettlementBatch.objects.filter(**same).count() + 1
        further = SettlementBatch(id=new_id(now), number=number, state=PENDING, created_at=now, **same)
        if insert_if_absent(further):
            return further


def _missing(batch: SettlementBatch) -> QuerySet[Any]:
    """Return the payments of a batch whose money hasn't arrived."""
    return SettlementItem.objects.filter(~ARRIVED, batch=batch, operation=None, dispute_step=None)
