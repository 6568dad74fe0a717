"""The webhook endpoint on the overview: its state, attempts of the last 24 hours, and undelivered deliveries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Count, Exists, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from merchants.models import Business
from webhooks.models import Attempt, Delivery, Endpoint, OpenOutage

HOURS = 24
HOUR = timedelta(hours=1)
PERIOD = timedelta(days=30)  # of the undelivered deliveries that are counted
NEWEST = 500  # deliveries whose attempts are read
GOOD, BAD = "good", "bad"

State = Delivery.State
UNDELIVERED = (State.WAITING, State.HELD, State.DEAD)
# When an attempt started, its error, and its milliseconds until the response; None without one.
Made = tuple[datetime, str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointPanel:
    """The endpoint, its attempts of the last 24 hours, and counts of its undelivered deliveries."""

    url: str  # empty if the business has no endpoint
    is_enabled: bool
    was_tried: bool
    failing_since: datetime | None  # None while the endpoint accepts deliveries, or is off
    hours: Mapping[int, str]  # of hours with attempts, oldest first: GOOD, or BAD if one failed
    delivered: int  # attempts
    attempts: int
    median_ms: float | None
    waiting: int
    held: int
    dead: int

    @property
    def is_failing(self) -> bool:
        return self.failing_since is not None

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def reading(self) -> str:
        """Return what the strip shows, for people who don't see it."""
        failed = sum(tone == BAD for tone in self.hours.values())
        return f"Attempts by hour, last 24 hours: {failed} of {len(self.hours)} hours with failures"

    @property
    def good_path(self) -> str:
        return _path(self.hours, GOOD)

    @property
    def bad_path(self) -> str:
        return _path(self.hours, BAD)


def columns(business: Business, *, now: datetime) -> dict[str, Any]:
    """Return what a panel needs of the endpoint and its undelivered deliveries, as columns of another query."""
    endpoint = Endpoint.objects.first_of(business)
    outage = OpenOutage.objects.at_present_urls().filter(endpoint__in=endpoint)
    mine = Delivery.objects.without_tests().filter(business=business, created_at__gte=now - PERIOD)
    return {
        "endpoint_url": Coalesce(Subquery(endpoint.values("url")[:1]), Value("")),
        "endpoint_enabled": Coalesce(Subquery(endpoint.values("enabled")[:1]), Value(value=False)),
        "endpoint_changed_at": Subquery(endpoint.values("url_changed_at")[:1]),
        "endpoint_tried": Exists(endpoint.tried()),
        "outage_began": Subquery(outage.values("began_at")[:1]),
        **{f"{state}_count": _count(mine.filter(state=state)) for state in UNDELIVERED},
    }


def panel_of(business: Business, row: Mapping[str, Any], *, now: datetime) -> EndpointPanel:
    """Return the panel of a row with `columns`. Reads a bounded number of attempts."""
    made = _attempts_of(business, since=now - HOURS * HOUR) if row["endpoint_url"] else []
    times = [ms for *_, ms in made if ms is not None]
    return EndpointPanel(
        url=row["endpoint_url"],
        is_enabled=row["endpoint_enabled"],
        was_tried=row["endpoint_tried"],
        failing_since=_failing_since(made, row) if row["endpoint_enabled"] else None,
        hours=_hours(made, now=now),
        delivered=sum(not error for _, error, _ in made),
        attempts=len(made),
        median_ms=median(times) if times else None,
        waiting=row["waiting_count"],
        held=row["held_count"],
        dead=row["dead_count"],
    )


def _count(deliveries: QuerySet[Delivery]) -> Coalesce:
    counted = deliveries.order_by().values("business").annotate(count=Count("id")).values("count")
    return Coalesce(Subquery(counted), 0)


def _attempts_of(business: Business, *, since: datetime) -> list[Made]:
    mine = Delivery.objects.without_tests().filter(business=business)
    newest = mine.filter(created_at__gte=since).order_by("-created_at")[:NEWEST]
    made = Attempt.objects.filter(delivery__in=newest.values("pk"), started_at__gte=since)
    return list(made.values_list("started_at", "error", Attempt.RESPONSE_MS))


def _failing_since(made: Sequence[Made], row: Mapping[str, Any]) -> datetime | None:
    """Return when the first attempt failed after the last one that succeeded and the last change of the URL."""
    outage_began: datetime | None = row["outage_began"]
    changed_at: datetime | None = row["endpoint_changed_at"]
    success = max((at for at, error, _ in made if not error), default=None)
    begin = max((at for at in (success, changed_at) if at), default=None)
    failed = [at for at, error, _ in made if error and (begin is None or at > begin)]
    if outage_began is not None and (success is None or outage_began > success):
        return outage_began
    return min(failed, default=None)


def _hours(made: Sequence[Made], *, now: datetime) -> dict[int, str]:
    begin = now - HOURS * HOUR
    tones: dict[int, str] = {}
    for at, error, _ in made:
        hour = min((at - begin) // HOUR, HOURS - 1)
        tones[hour] = BAD if error else tones.get(hour, GOOD)
    return dict(sorted(tones.items()))


def _path(hours: Mapping[int, str], tone: str) -> str:
    """Return the bars of a tone, in a box of 240 by 1.

    >>> _path({0: "good", 1: "bad", 23: "good"}, "good")
    'M1 0h8v1h-8zM231 0h8v1h-8z'
    """
    return "".join(f"M{hour * 10 + 1} 0h8v1h-8z" for hour, each in hours.items() if each == tone)
