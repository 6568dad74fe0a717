"""Duplicates: items with the account and amount of an earlier one of their batch, or of a payout within 24 hours."""

from __future__ import annotations

from datetime import datetime, timedelta

from kit.time.time_ordered_ids import earliest_id
from payments.models import Transaction
from payout_batches.models import PayoutBatch, PayoutBatchItem

State = PayoutBatchItem.State
PAID_WITHIN = timedelta(hours=24)
Key = tuple[str, str, int]  # bank, account and amount


def mark(batch: PayoutBatch, items: list[PayoutBatchItem], *, now: datetime) -> list[PayoutBatchItem]:
    """Mark and return the duplicates among the items of a batch, which are in their order. Nothing is saved."""
    seen, marked = _paid(batch, items, now=now), []
    for item in items:
        of = seen.setdefault(_key(item), item.reference)
        decided = item.accepted_at is not None or item.state == State.UNKNOWN_ACCOUNT
        if of != item.reference and not decided:
            item.state, item.duplicate_of = State.DUPLICATE, of
            item.problem = f"{of} has the same account and amount."
            marked.append(item)
    return marked


def _key(row: PayoutBatchItem | Transaction) -> Key:
    return row.bank_code, row.account_number, row.amount


def _paid(batch: PayoutBatch, items: list[PayoutBatchItem], *, now: datetime) -> dict[Key, str]:
    """Return the references of payouts to these accounts within 24 hours that have not failed."""
    payouts = Transaction.objects.of(batch.business).filter(
        account_number__in={item.account_number for item in items},
        id__gte=earliest_id(now - PAID_WITHIN),
        request_type=Transaction.RequestType.PAYOUT,
    )
    rows = payouts.exclude(status=Transaction.Status.FAILED).order_by("id")
    return {_key(row): row.reference for row in rows}
