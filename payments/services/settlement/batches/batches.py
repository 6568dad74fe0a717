"""Build settlement batches from the successful payments of a business day and the refunds to net.

What disputes gave back is netted too. Without payments it forms a batch of its own, because the business may have stopped
selling. Refunds and debts alone form none.

A batch is filled in chunks, each in its own database transaction under the lock of the batch. The next run continues
the batch of a killed run, and concurrent runs fill the same batch. Once complete, the payments of a large batch become
pending in chunks, too (`batch_transitions`). Lock order: batch, transactions.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.db import transaction as database
from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import TruncDate

from kit.db.prepared_statements import insert_if_absent
from kit.time.time_ordered_ids import new_id
from ledger.models import Account
from merchants.models import Business
from payments.models import (
    COLLECTED,
    BatchTransition,
    CardOperation,
    SettlementBatch,
    SettlementBatchQuerySet,
    SettlementItem,
    Transaction,
    TransactionQuerySet,
    dispute_steps,
)
from payments.rules.settlement import business_days
from payments.services.settlement.batches import batch_transitions
from payments.services.settlement.batches.insert_select import insert_selected

SettleStatus = Transaction.SettleStatus

CHUNK = 5_000  # payments in one database transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """Payments of one business, currency and business day that await a batch. Amounts are minor units."""

    business_id: UUID
    currency: str
    day: date
    payments: int
    gross: int
    fees: int
    taxes: int


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one database transaction: the number of payments added to a batch."""

    batch: SettlementBatch
    payments: int


class _NothingLeft(Exception):
    """A concurrent run has taken the payments, and the new batch would be empty."""


def due(*, until: date, business: Business | None = None) -> list[Due]:
    """Return the payments that await a batch up to the end of a business day, oldest day first.

    After them, without payments, what disputes gave back and no payments of its business and currency will net.
    `business` limits them to one business.
    """
    groups = (
        Transaction.objects.unsettled()
        .filter(_of(business))
        .filter(finished_at__lt=business_days.begins_at(business_days.day_after(until)))
        .annotate(day=TruncDate("finished_at", tzinfo=business_days.TIME_ZONE))
        .values("business_id", "currency", "day")
        .annotate(payments=Count("id"), gross=Sum(COLLECTED), fees=Sum("fee"), taxes=Sum("fee_tax"))
        .order_by("day", "business_id", "currency")
    )
    payments = [Due(**group) for group in groups]
    paid = {(one.business_id, one.currency) for one in payments}
    given_back = _given_back(until=until, business=business)
    return [*payments, *(one for one in given_back if (one.business_id, one.currency) not in paid)]


def _given_back(*, until: date, business: Business | None) -> list[Due]:
    """Return where disputes gave back more than is to be netted, with the business day of the last step."""
    steps = (
        _unnetted_steps()
        .filter(Q() if business is None else Q(dispute__business=business))
        .values_list("dispute__business", "dispute__currency")
        .annotate(taken=Sum(F("taken") + F("fee")), last=Max("at"))
        .filter(taken__lt=0, last__lt=business_days.begins_at(business_days.day_after(until)))
        .order_by("dispute__business", "dispute__currency")
    )
    none = {"payments": 0, "gross": 0, "fees": 0, "taxes": 0}
    return [
        Due(business_id=business_id, currency=currency, day=business_days.business_day(last), **none)
        for business_id, currency, _, last in steps
        if _has_more_given_back(business_id, currency)
    ]


def _has_more_given_back(business_id: UUID, currency: str) -> bool:
    """Return whether a batch without payments would pay: disputes gave back more than refunds and debts take.

    Pending settlement must hold that beside unreleased batches. It doesn't if one of them carries a debt forward, which is
    netted once it is released, or if staff have credited the money by a journal.
    """
    steps, refunds = _dispute_steps_to_net(business_id, currency), _refunds_to_net(business_id, currency)
    paid = -_sum_of(steps, F("taken") + F("fee"))
    if paid <= 0:
        return False
    paid -= _sum_of(refunds, F("amount")) + _sum_of(_debts(business_id, currency), F("carried_forward"))
    unreleased = SettlementBatch.objects.filter(
        business=business_id, currency=currency, state__in=[SettleStatus.PENDING, SettleStatus.APPROVED]
    )
    pending = Account.objects.filter(
        business=business_id, currency=currency, kind=Account.Kind.PENDING_SETTLEMENT
    )
    return 0 < paid <= _sum_of(pending, F("balance")) - _sum_of(unreleased, F("net"))


def _sum_of(rows: QuerySet[Any], amount: Combinable) -> int:
    return int(rows.aggregate(sum=Sum(amount, default=0))["sum"])


def settle(work: list[Due], *, actor: str, now: datetime, business: Business | None = None) -> Iterator[Step]:
    """Put due payments into batches and make these pending, after finishing what a killed run left.

    `business` limits the batches of a killed run to one business. Safe to repeat and to run concurrently: a payment
    is in at most one live batch.
    """
    existing = SettlementBatch.objects.filter(_of(business))
    # Payments of rejected batches join the new ones.
    batch_transitions.finish_updates(existing)
    left_behind = existing.filter(state=SettleStatus.INITIATED)
    begun = list(left_behind.order_by("id").values_list("business_id", "currency", "day"))
    for business_id, currency, day in [*begun, *((one.business_id, one.currency, one.day) for one in work)]:
        while (step := _take_step(business_id, currency, day, actor=actor, now=now)) is not None:
            batch_transitions.finish_updates(SettlementBatch.objects.filter(pk=step.batch.pk))
            yield step


def _of(business: Business | None) -> Q:
    return Q() if business is None else Q(business=business)


def _take_step(business_id: UUID, currency: str, day: date, *, actor: str, now: datetime) -> Step | None:
    """Add the next chunk to the batch being built, or complete it. Returns None if no payments of the day are left.

    If a concurrent run is building the batch of another day, that one is completed first.
    """
    try:
        with database.atomic():
            batch = _lock_begun(business_id, currency)
            if batch is None:
                has_payments = _unsettled(business_id, currency, day).exists()
                if not has_payments and not _has_more_given_back(business_id, currency):
                    return None
                batch = _begin(business_id, currency, day, actor=actor, now=now)
            return _grow(batch, actor=actor, now=now)
    except _NothingLeft:
        return None


def _grow(batch: SettlementBatch, *, actor: str, now: datetime) -> Step:
    added = _add_payments(batch, now=now)
    if not added:
        if not batch.items.exists() and not _has_more_given_back(batch.business_id, batch.currency):
            raise _NothingLeft
        _complete(batch, actor=actor, now=now)
    return Step(batch, added)


def _unsettled(business_id: UUID, currency: str, day: date) -> TransactionQuerySet:
    return Transaction.objects.unsettled().filter(
        business=business_id,
        currency=currency,
        finished_at__gte=business_days.begins_at(day),
        finished_at__lt=business_days.begins_at(business_days.day_after(day)),
    )


def _lock_begun(business_id: UUID, currency: str) -> SettlementBatch | None:
    """Lock and return the batch that is being built. There is at most one."""
    return (
        SettlementBatch.objects.select_for_update()
        .filter(business=business_id, currency=currency, state=SettleStatus.INITIATED)
        .first()
    )


def _begin(business_id: UUID, currency: str, day: date, *, actor: str, now: datetime) -> SettlementBatch:
    """Create a batch, or wait for a concurrent run's."""
    while True:
        of_that_day = SettlementBatch.objects.filter(business=business_id, currency=currency, day=day)
        batch = SettlementBatch(
            id=new_id(now),
            business_id=business_id,
            currency=currency,
            day=day,
            number=of_that_day.count() + 1,
            created_at=now,
        )
        if insert_if_absent(batch):
            BatchTransition.objects.create(batch=batch, after=batch.state, actor=actor, at=now)
            return batch
        begun = _lock_begun(business_id, currency)
        if begun is not None:
            return begun


def _add_payments(batch: SettlementBatch, *, now: datetime) -> int:
    """Add the next chunk of unsettled payments to the batch, and return its size."""
    chosen = _lock_next(batch)
    payments = Transaction.objects.filter(pk__in=chosen)
    if chosen:
        item = {"batch": batch.pk, "transaction": F("id"), "gross": COLLECTED}
        item |= {"fee": F("fee"), "fee_tax": F("fee_tax"), "refunded": 0, "is_live": True}
        insert_selected(SettlementItem, payments.order_by("finished_at", "id"), item)
        batch_transitions.set_settle_status(payments, SettleStatus.INITIATED, now=now)
    return len(chosen)


def _lock_next(batch: SettlementBatch) -> list[UUID]:
    """Lock and return the next chunk of unsettled payments, from the last one in the batch on.

    The index still has an entry for each payment that an earlier chunk settled, until VACUUM. A chunk that read all of
    them would take longer than the one before it. Payments that were committed late are found by the last chunk,
    which reads the whole day.
    """
    unsettled = _unsettled(batch.business_id, batch.currency, batch.day)
    in_order = unsettled.order_by("finished_at").values_list("pk", flat=True)
    # All items are payments until the batch is complete. A join might be planned for all of them, and a filter on
    # their kind, too.
    last = batch.items.order_by("-pk").values("transaction")[:1]
    reached = Transaction.objects.filter(pk=last).values_list("finished_at", flat=True).first()
    chosen = list(in_order.filter(finished_at__gte=reached)[:CHUNK]) if reached is not None else []
    chosen = chosen or list(in_order[:CHUNK])
    # Rows are locked by id, as everywhere (`kit.db.locks`).
    return list(
        unsettled.filter(pk__in=chosen).order_by("pk").select_for_update().values_list("pk", flat=True)
    )


def _complete(batch: SettlementBatch, *, actor: str, now: datetime) -> None:
    """Net the refunds, the disputes and the debts of earlier batches, and make the batch pending."""
    insert_selected(
        SettlementItem,
        _refunds_to_net(batch.business_id, batch.currency).order_by("finished_at", "id"),
        {
            "batch": batch.pk,
            "transaction": F("transaction_id"),
            "operation": F("id"),
            "gross": 0,
            "fee": 0,
            "refunded": F("amount"),
            "is_live": True,
        },
    )
    insert_selected(
        SettlementItem,
        _dispute_steps_to_net(batch.business_id, batch.currency).order_by("id"),
        {
            "batch": batch.pk,
            "transaction": F("dispute__transaction_id"),
            "dispute_step": F("id"),
            "gross": 0,
            "fee": F("fee"),
            "refunded": 0,
            "disputed": F("taken"),
            "is_live": True,
        },
    )
    _debts(batch.business_id, batch.currency).update(carried_into=batch)
    update_totals(batch)
    batch_transitions.transition(batch, SettleStatus.PENDING, actor=actor, now=now)


def _refunds_to_net(business_id: UUID, currency: str) -> QuerySet[CardOperation]:
    """Return the refunds of payments in live batches that no live batch has netted."""
    netted = SettlementItem.objects.filter(operation=OuterRef("pk"), is_live=True)
    return CardOperation.objects.filter(
        ~Exists(netted),
        ~Q(transaction__settle_status__in=["", SettleStatus.REJECTED]),
        business=business_id,
        transaction__currency=currency,
        kind=CardOperation.Kind.REFUND,
        status=CardOperation.Status.SUCCESS,
    )


def _dispute_steps_to_net(business_id: UUID, currency: str) -> QuerySet[Any]:
    """Return the steps of disputes of payments in live batches that moved money and no live batch has netted."""
    return _unnetted_steps().filter(dispute__business=business_id, dispute__currency=currency)


def _unnetted_steps() -> QuerySet[Any]:
    netted = SettlementItem.objects.filter(dispute_step=OuterRef("pk"), is_live=True)
    return dispute_steps().filter(
        ~Exists(netted),
        ~Q(taken=0) | ~Q(fee=0),
        ~Q(dispute__transaction__settle_status__in=["", SettleStatus.REJECTED]),
    )


def _debts(business_id: UUID, currency: str) -> SettlementBatchQuerySet:
    """Return the released batches whose debt no batch has brought forward."""
    return SettlementBatch.objects.filter(
        business=business_id,
        currency=currency,
        state=SettleStatus.RELEASED,
        carried_forward__gt=0,
        carried_into=None,
    )


def update_totals(batch: SettlementBatch) -> None:
    """Set the batch's totals to the sums of its items."""
    items = batch.items.aggregate(
        payments_count=Count("pk", filter=Q(operation=None, dispute_step=None)),
        gross=Sum("gross", default=0),
        fees=Sum("fee", default=0),
        taxes=Sum("fee_tax", default=0),
        refunds=Sum("refunded", default=0),
        disputes=Sum("disputed", default=0),
    )
    owed = batch.brought.aggregate(owed=Sum("carried_forward", default=0))["owed"]
    batch.set_totals(**items, brought_forward=owed)
