"""What a business did day by day (UTC), counted. Days that are over are remembered for a few minutes.

Counting a range reads every transaction in it; remembered, a page reads today's only. What a day that is
over still may change (a late capture, a transfer) shows with so much delay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import structlog
from django.core.cache import cache
from django.db.models import Case, Count, F, Sum, When
from django.db.models.functions import TruncDate
from redis.exceptions import RedisError

from merchants.identifiers import earliest_id
from merchants.models import Business
from payments.models import Transaction

log = structlog.get_logger("sluice.dashboard")

REMEMBERED = timedelta(minutes=5)
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Transactions of one day that are alike in everything but their amounts. Minor units."""

    day: date
    request_type: str
    method: str
    status: str
    currency: str
    response_code: str
    count: int
    volume: int  # what was captured of cards, and the amount of everything else


def tallies(business: Business, *, days: int, now: datetime) -> Sequence[Tally]:
    """Return what happened in so many days, today included."""
    today = now.date()
    over = _remembered(business, first=today - (days - 1) * DAY, today=today)
    return [*over, *_count(business, first=today, last=today)]


def _remembered(business: Business, *, first: date, today: date) -> list[Tally]:
    name = f"tallies:{business.pk}:{first}:{today}"
    try:
        found: list[Tally] | None = cache.get(name)
        if found is None:
            found = _count(business, first=first, last=today - DAY)
            cache.set(name, found, timeout=REMEMBERED.total_seconds())
    except RedisError as error:  # the page is slower then, and right all the same
        log.warning("days not remembered", error=type(error).__name__)
        return _count(business, first=first, last=today - DAY)
    return found


def _count(business: Business, *, first: date, last: date) -> list[Tally]:
    # By id, which begins with the time: there is an index for it.
    span = Transaction.objects.of(business).filter(
        id__gte=earliest_id(_begin(first)), id__lt=earliest_id(_begin(last + DAY))
    )
    volume = Case(When(method=Transaction.Method.CARD, then=F("amount_captured")), default=F("amount"))
    rows: Any = (
        span.annotate(day=TruncDate("created_at", tzinfo=UTC))
        .values("day", "request_type", "method", "status", "currency", "response_code")
        .annotate(count=Count("id"), volume=Sum(volume))
        .order_by("day")
    )
    return [Tally(**row) for row in rows]


def _begin(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)
