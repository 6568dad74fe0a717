"""Delivery health of the last 24 hours, from the newest deliveries only, so that its cost is bounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from dashboard.ui.charts import Column, ColumnChart, LineChart, columns, lines
from merchants.models import Business
from webhooks.models import Attempt, Delivery

HOURS = 24
NEWEST = 1000  # deliveries counted
HOUR = timedelta(hours=1)
State = Delivery.State


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The last 24 hours, hour by hour."""

    outcomes: ColumnChart
    latency: LineChart
    delivered: int
    failed: int  # dead, or waiting for another attempt after a failure
    median_ms: float | None
    p95_ms: float | None
    is_sample: bool  # there were more deliveries than were counted

    @property
    def total(self) -> int:
        return self.delivered + self.failed


def health_of(business: Business, *, now: datetime) -> Health:
    begin = now.replace(minute=0, second=0, microsecond=0) - (HOURS - 1) * HOUR
    since: Any = Delivery.objects.without_tests().filter(business=business, created_at__gte=begin)
    newest = since.order_by("-created_at")
    rows = list(newest.values_list("pk", "created_at", "state", "attempts_made", "manual_attempts")[:NEWEST])
    hour_of = {key: (created_at - begin) // HOUR for key, created_at, *_ in rows}
    delivered, failed = [0] * HOURS, [0] * HOURS
    for key, _, state, automatic, manual in rows:
        if state == State.DELIVERED:
            delivered[hour_of[key]] += 1
        elif automatic + manual:
            failed[hour_of[key]] += 1
    times: dict[int, list[float]] = defaultdict(list)
    for key, total_ms in Attempt.objects.filter(delivery__in=list(hour_of)).values_list(
        "delivery", "total_ms"
    ):
        times[hour_of[key]].append(total_ms)
    everything = [each for hour in times.values() for each in hour]
    return Health(
        outcomes=columns(_hours(begin, delivered, failed)),
        latency=lines([_each_hour(times, median), _each_hour(times, p95)]),
        delivered=sum(delivered),
        failed=sum(failed),
        median_ms=median(everything) if everything else None,
        p95_ms=p95(everything) if everything else None,
        is_sample=len(rows) == NEWEST,
    )


def p95(times: Iterable[float]) -> float:
    """Return the 95th percentile.

    >>> p95(range(1, 101))
    95
    """
    ordered = sorted(times)
    return ordered[max(-(-len(ordered) * 19 // 20) - 1, 0)]


def _hours(begin: datetime, delivered: Sequence[int], failed: Sequence[int]) -> list[Column]:
    return [
        Column(
            f"{begin + hour * HOUR:%H:00}",
            (good, bad),
            f"{begin + hour * HOUR:%-d %b, %H:00} UTC: {good} delivered, {bad} failed",
        )
        for hour, (good, bad) in enumerate(zip(delivered, failed, strict=True))
    ]


def _each_hour(times: dict[int, list[float]], figure: Any) -> list[float | None]:
    return [figure(times[hour]) if times[hour] else None for hour in range(HOURS)]
