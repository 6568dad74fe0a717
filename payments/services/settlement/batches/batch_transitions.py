"""State transitions of a batch and its payments, under the lock of the batch.

A transition changes the batch and its first items in one database transaction. The items of a large batch follow in
chunks, each in a database transaction of its own: the caller, `settle` and a scheduled task continue them. Money moves
with the batch, so nothing depends on how far its payments are. `SettlementBatch.updated_through` says how far.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from time import monotonic
from uuid import UUID

from django.db import transaction as database
from django.db.models import F

from kit.db.one_by_one import one_by_one
from payments.models import (
    BatchTransition,
    InvalidState,
    SettlementBatch,
    SettlementBatchQuerySet,
    SettlementItem,
    Transaction,
    TransactionQuerySet,
    Transition,
)
from payments.services.settlement.batches.insert_select import insert_selected

SettleStatus = Transaction.SettleStatus

CHUNK = 5_000  # items updated in one database transaction
RUN = 10.0  # seconds, so that a worker that stops doesn't wait long


class StillUpdating(InvalidState):
    default_detail = "The batch's payments are still being updated to its state. Try again in a minute."


def lock(batch_id: UUID) -> SettlementBatch:
    """Return the batch, locked until the database transaction ends.

    :raises SettlementBatch.DoesNotExist: there is no such batch
    """
    batches = SettlementBatch.objects.select_for_update(of=("self",)).select_related("business")
    return batches.get(pk=batch_id)


def transition(
    batch: SettlementBatch, to: SettleStatus, *, actor: str, reason: str = "", now: datetime
) -> None:
    """Change the state of a locked batch and of its first items. `update_items` changes the others.

    :raises InvalidState: the state machine doesn't allow the transition
    :raises StillUpdating: payments of the batch don't have its current state yet
    """
    if batch.is_updating:
        raise StillUpdating
    batch.transition_to(to, actor=actor, reason=reason, now=now)
    _update_following(batch, 0, at=now)


def finish_updates(batches: SettlementBatchQuerySet) -> None:
    """Update all items of batches."""
    for _ in update_items(batches):
        pass


def update_items(batches: SettlementBatchQuerySet) -> Iterator[int]:
    """Continue the updates of batches, oldest batch first. Yields the size of each committed chunk.

    Safe to kill, to repeat and to run concurrently.
    """
    for batch_id in _unfinished(batches):
        yield from iter(partial(_update_next, batch_id), 0)


def update_due() -> None:
    """Continue the updates of all batches by a chunk each in turn, for at most `RUN` seconds."""
    ends = monotonic() + RUN
    left = _unfinished(SettlementBatch.objects.all())
    while left and monotonic() < ends:
        updated = one_by_one(_update_next, left, failure="settled payments not updated")
        left = [batch_id for batch_id, size in zip(left, updated, strict=True) if size]


def _unfinished(batches: SettlementBatchQuerySet) -> list[UUID]:
    return list(batches.updating().order_by("id").values_list("pk", flat=True))


@database.atomic
def _update_next(batch_id: UUID) -> int:
    """Update the next chunk of a batch, and return its size: 0 if nothing is left."""
    batch = lock(batch_id)
    if batch.updated_through is None:
        return 0
    last = BatchTransition.objects.filter(batch=batch).latest("id")
    return _update_following(batch, batch.updated_through, at=last.at)


def _update_following(batch: SettlementBatch, item_id: int, *, at: datetime) -> int:
    """Update the chunk of a locked batch's items that follows an item, and return its size."""
    following = batch.items.filter(pk__gt=item_id, is_live=True).order_by("pk")
    found = list(following.values_list("pk", "transaction", "operation", "dispute_step")[: CHUNK + 1])
    chunk = found[:CHUNK]
    if batch.state == SettleStatus.REJECTED:
        SettlementItem.objects.filter(pk__in=[item for item, *_ in chunk]).update(is_live=False)
    payments = [payment for _, payment, *of_payment in chunk if of_payment == [None, None]]
    if payments:
        set_settle_status(Transaction.objects.filter(pk__in=payments), SettleStatus(batch.state), now=at)
    batch.updated_through = chunk[-1][0] if len(found) > CHUNK else None
    batch.save(update_fields=["updated_through"])
    return len(chunk)


def set_settle_status(payments: TransactionQuerySet, to: SettleStatus, *, now: datetime) -> None:
    """Set the settle_status of payments to the state of their batch, and log each transition."""
    insert_selected(
        Transition,
        payments,
        {
            "transaction": F("id"),
            "attribute": "settle_status",
            "before": F("settle_status"),
            "after": to.value,
            "cause": Transition.Cause.SETTLEMENT.value,
            "at": now,
        },
    )
    payments.update(settle_status=to)
