"""How far a batch is sent: the meter of its rows, and what needs a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Count, Q

from dashboard.payout_batches import history
from dashboard.transactions.detail.payout_failures import failure_of
from payments.models import PayoutApprovalGrant, Transaction
from payout_batches import summaries
from payout_batches.models import PayoutBatch, PayoutBatchItem
from payout_batches.representation import ShownBatch
from payout_batches.services.sending import HELD_FOR

MOST_SEGMENTS = 100  # rows that the meter shows one by one
SHOWN_ITEMS = 5  # that need attention, of each kind
ANSWERS_WITHIN = timedelta(minutes=1)  # a bank; only then is a payout called unconfirmed
# What a reader calls the states of items, in the order of the key, with the style of each.
SENT, FAILED, UNCONFIRMED = ("sent", "good"), ("failed", "bad"), ("not confirmed", "wait")
HELD, WAITING, CANCELLED = ("held", "next"), ("to be sent", "next"), ("cancelled", "over")
TAKEN = (Transaction.Status.SUCCESS, Transaction.Status.PENDING)  # from the balance, and not given back
KINDS = (SENT, FAILED, UNCONFIRMED, HELD, WAITING, CANCELLED)
KIND_OF: dict[str, tuple[str, str]] = {
    Transaction.Status.SUCCESS: SENT,
    Transaction.Status.FAILED: FAILED,
    Transaction.Status.PENDING: UNCONFIRMED,
    PayoutBatchItem.State.HELD: HELD,
    PayoutBatchItem.State.CANCELLED: CANCELLED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The rows of a batch that are equally far. The amount is minor units."""

    name: str
    style: str
    number: int
    amount: int


class Segment(NamedTuple):
    """A part of the meter, in per cent of its width."""

    style: str
    x: str
    width: str


def context(
    batch: PayoutBatch, items: Sequence[PayoutBatchItem], shown: ShownBatch, *, now: datetime
) -> dict[str, Any]:
    """Return what the page of a batch shows of its progress; nothing before it is sent.

    `items`: all of them, or at least `MOST_SEGMENTS`.
    """
    if batch.started_at is None:
        return {}
    ordered, found = batch.items.select_related("payout").order_by("position"), parts(shown)
    failed = list(ordered.failed().filter(retried_as__isnull=True))
    unconfirmed = ordered.filter(
        payout__status=Transaction.Status.PENDING, payout__created_at__lt=now - ANSWERS_WITHIN
    )
    taken = [part for part in found if part.name in {SENT[0], UNCONFIRMED[0]}]
    charge = summaries.charge_of_sent(ordered.filter(payout__status__in=TAKEN))
    counts = batch.items.aggregate(
        accepted=Count("pk", Q(accepted_at__isnull=False)),
        corrected=Count("pk", Q(corrected_by__isnull=False)),
    )
    return {
        "parts": found,
        "taken": taken,
        "number_taken": sum(part.number for part in taken),
        "charge": charge,
        "sum_taken": sum(part.amount for part in taken) + charge.total,
        "moments": history.moments(batch, _grants(batch), **counts),
        "segments": _segments(batch, items, found),
        "sent": next((part.number for part in found if part.name == SENT[0]), 0),
        "failed": len(failed),
        "failed_items": [(item, _why_unsent(item)) for item in failed[:SHOWN_ITEMS]],
        "unconfirmed": unconfirmed[:SHOWN_ITEMS],
        "held_until": batch.held_since and batch.held_since + HELD_FOR,
        "updated_at": now,
    }


def _why_unsent(item: PayoutBatchItem) -> str:
    """Return why an item failed without that a bank refused it; an empty string if one did."""
    if item.payout is None:
        return f"{item.problem} Nothing was taken from your balance."
    failure = failure_of(item.payout)
    return f"{failure.cause}. {failure.text}" if failure and not item.payout.full_gateway_code else ""


def _grants(batch: PayoutBatch) -> list[PayoutApprovalGrant]:
    return [] if batch.approval is None else list(batch.approval.grants.select_related("user"))


def parts(shown: ShownBatch) -> list[Part]:
    """Return the rows of a batch by how far they are, in the order of the key."""
    numbers, amounts = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
    for state, number in shown.counts.items():
        kind = KIND_OF.get(state, WAITING)
        numbers[kind] += number
        amounts[kind] += shown.sums[state]
    return [
        Part(name=kind[0], style=kind[1], number=numbers[kind], amount=amounts[kind])
        for kind in KINDS
        if numbers[kind]
    ]


def _segments(batch: PayoutBatch, items: Sequence[PayoutBatchItem], found: list[Part]) -> list[Segment]:
    """Return a segment for each row in the order of the file, or for each part of a batch with many rows."""
    if batch.item_count > MOST_SEGMENTS:
        lengths = [(part.style, part.number) for part in found]
    else:
        lengths = [(KIND_OF.get(item.status, WAITING)[1], 1) for item in items]
    gap, unit, begins, segments = min(0.6, 20 / len(lengths)), 100 / batch.item_count, 0.0, []
    for style, length in lengths:
        segments.append(Segment(style, f"{begins + gap / 2:.2f}%", f"{length * unit - gap:.2f}%"))
        begins += length * unit
    return segments
