"""Outages of endpoints: from the first failed attempt after the last success until the next success.

Derived from deliveries and attempts, so that recording a result needs no further statement. Each query reads a bounded
number of rows through an index. Test events never count.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Max

from webhooks.models import Attempt, Delivery, DeliveryQuerySet

SAMPLE = 200  # deliveries read in each state

State = Delivery.State


@dataclass(frozen=True, slots=True)
class Outage:
    """An outage, and the last failed attempt in it."""

    began_at: datetime
    last_attempt: Attempt


def outage_of(business_id: UUID) -> Outage | None:
    """Return the current outage of a business's endpoint; None while the endpoint accepts deliveries."""
    success, mine = last_success(business_id), _of(business_id)
    undelivered = (
        mine.filter(state=State.WAITING).order_by("created_at")[:SAMPLE],
        mine.filter(state=State.DEAD).order_by("-created_at")[:SAMPLE],
    )
    failed: list[Attempt] = []
    for deliveries in undelivered:
        attempts = Attempt.objects.filter(delivery__in=deliveries.values("pk")).exclude(error="")
        if success is not None:
            attempts = attempts.filter(started_at__gt=success)
        failed += attempts.defer("excerpt")
    if not failed:
        return None
    in_order = sorted(failed, key=lambda attempt: (attempt.started_at, attempt.pk))
    return Outage(in_order[0].started_at, in_order[-1])


def last_success(business_id: UUID) -> datetime | None:
    """Return when a delivery last succeeded, among those created last."""
    newest = _of(business_id).filter(state=State.DELIVERED).order_by("-created_at")[:SAMPLE]
    found: datetime | None = newest.aggregate(last=Max("delivered_at"))["last"]
    return found


def _of(business_id: UUID) -> DeliveryQuerySet:
    mine: DeliveryQuerySet = Delivery.objects.without_tests().filter(business=business_id)
    return mine
