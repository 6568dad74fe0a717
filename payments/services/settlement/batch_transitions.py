"""State transitions of a batch and its payments, in one database transaction under the lock of the batch."""

from datetime import datetime
from uuid import UUID

from django.db.models import F

from payments.models import SettlementBatch, Transaction, TransactionQuerySet, Transition
from payments.services.settlement.insert_select import insert_selected

SettleStatus = Transaction.SettleStatus


def lock(batch_id: UUID) -> SettlementBatch:
    """Return the batch, locked until the database transaction ends.

    :raises SettlementBatch.DoesNotExist: there is no such batch
    """
    batches = SettlementBatch.objects.select_for_update(of=("self",)).select_related("business")
    return batches.get(pk=batch_id)


def transition(
    batch: SettlementBatch, to: SettleStatus, *, actor: str, reason: str = "", now: datetime
) -> None:
    """Change the state of a locked batch and of every payment in it.

    :raises InvalidState: the state machine doesn't allow the transition
    """
    batch.transition_to(to, actor=actor, reason=reason, now=now)
    in_it = batch.items.filter(operation=None, is_live=True).values("transaction")
    set_settle_status(Transaction.objects.filter(pk__in=in_it), to, now=now)


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
