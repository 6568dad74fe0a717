"""A batch moves, and its payments with it: in one database transaction, under the lock of the batch's row."""

from datetime import datetime
from uuid import UUID

from django.db.models import F

from payments.models import SettlementBatch, Transaction, TransactionQuerySet, Transition
from payments.services.settlement.insert_select import insert_selected

SettleStatus = Transaction.SettleStatus


def lock(batch_id: UUID) -> SettlementBatch:
    """Return the batch as it is, locked until the database transaction ends.

    :raises SettlementBatch.DoesNotExist: there is none
    """
    batches = SettlementBatch.objects.select_for_update(of=("self",)).select_related("business")
    return batches.get(pk=batch_id)


def move(batch: SettlementBatch, to: SettleStatus, *, actor: str, reason: str = "", now: datetime) -> None:
    """Move a locked batch and every payment in it.

    :raises InvalidState: it is no move
    """
    batch.move(to, actor=actor, reason=reason, now=now)
    in_it = batch.items.filter(operation=None, is_live=True).values("transaction")
    follow(Transaction.objects.filter(pk__in=in_it), to, now=now)


def follow(payments: TransactionQuerySet, to: SettleStatus, *, now: datetime) -> None:
    """Give payments the settle_status of their batch, and log the move of each."""
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
