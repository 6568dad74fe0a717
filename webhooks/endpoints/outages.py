"""Outages of endpoints: from the first failed attempt after the last success until the next success.

A changed URL begins anew: attempts before the change don't count. Derived from deliveries and attempts, so that recording a result needs no further statement. Each query reads a bounded
number of rows through an index. Test events never count.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import DateTimeField, Max, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from webhooks.models import NEWEST_DELIVERED, Attempt, Delivery, DeliveryQuerySet, Endpoint

SAMPLE = 200  # undelivered ones read in each state
BEFORE_ALL = datetime(2000, 1, 1, tzinfo=UTC)

State = Delivery.State


@dataclass(frozen=True, slots=True)
class Outage:
    """An outage, and the first and the last failed attempt in it."""

    began_at: datetime
    first_attempt: Attempt
    last_attempt: Attempt


def outage_of(endpoint: Endpoint) -> Outage | None:
    """Return the current outage of an endpoint; None while it accepts deliveries."""
    business_id, number = endpoint.business_id, endpoint.number
    mine = _of(business_id, number)
    delivered = _last_delivered(business_id, number)
    at = (
        Delivery.objects.filter(pk__in=delivered.values("pk"))
        .order_by("-delivered_at")
        .values("delivered_at")
    )
    success = Coalesce(Subquery(at[:1]), Value(BEFORE_ALL), output_field=DateTimeField())
    changed_at = endpoint.url_changed_at or BEFORE_ALL
    waiting, dead = (
        _failed_attempts(mine.filter(state=state).order_by(order)[:SAMPLE], after=success).filter(
            started_at__gt=changed_at
        )
        for state, order in ((State.WAITING, "created_at"), (State.DEAD, "-created_at"))
    )
    failed = sorted(waiting.union(dead, all=True))
    if not failed:
        return None
    (_, first), (_, last) = failed[0], failed[-1]
    found = Attempt.objects.in_bulk([first, last])  # only now their responses
    return Outage(found[first].started_at, found[first], found[last])


def _failed_attempts(
    deliveries: DeliveryQuerySet, *, after: Coalesce
) -> QuerySet[Attempt, tuple[datetime, int]]:
    """Return the time and key of each failed attempt of these deliveries."""
    attempts = Attempt.objects.filter(delivery__in=deliveries.values("pk"), started_at__gt=after)
    return attempts.exclude(error="").values_list("started_at", "pk")


def last_success(business_id: UUID, number: int = Endpoint.FIRST) -> datetime | None:
    """Return when a delivery last succeeded, among those created last."""
    delivered = _last_delivered(business_id, number)
    found: datetime | None = delivered.aggregate(last=Max("delivered_at"))["last"]
    return found


def _last_delivered(business_id: UUID, number: int) -> DeliveryQuerySet:
    delivered = _of(business_id, number).filter(state=State.DELIVERED).order_by("-created_at")
    return delivered[:NEWEST_DELIVERED]


def _of(business_id: UUID, number: int) -> DeliveryQuerySet:
    return Delivery.objects.without_tests().filter(business=business_id, endpoint_number=number)
