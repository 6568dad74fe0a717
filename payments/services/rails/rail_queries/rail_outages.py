"""Probe unavailable rails with one early query at a time, to detect the end of an outage.

A provider's circuit breaker probes it once a second meanwhile (`kit.connectors.circuit_breaker`), and its closing has the
early query made at once. Queries about a transaction are repeated at growing intervals, so after an outage most would only be due in minutes or
hours. The first answer after an outage makes them due at once. Outcomes that had been unknown for hours before the
outage keep their intervals, because the outage isn't their cause. Decision 0022.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction as database
from django.db.models import QuerySet

from kit.connectors import circuit_breaker
from kit.db.prepared_statements import insert_if_absent
from payments.models import RailSilence, WatchedAuthorisation
from payments.services.rails.rail_queries.query_leases import ACQUIRER, Lane

PROBE_INTERVAL = timedelta(minutes=1)
# Outcomes that are older than this at the beginning of a outage are not queried early.
BEFORE_OUTAGE = timedelta(hours=6)
# A single lost answer is not an outage, so no queries are brought forward after it.
SHORTEST_OUTAGE = timedelta(seconds=20)
AT_ONCE = 20_000  # rows brought forward per table; the others keep their intervals


def outages() -> list[RailSilence]:
    """Return the lanes whose last call wasn't answered."""
    return list(RailSilence.objects.order_by("lane"))


def record_outage(lane: Lane, *, now: datetime) -> None:
    insert_if_absent(RailSilence(lane=str(lane), since=now, probed_at=now))


def to_be_probed(outages: Iterable[RailSilence], *, now: datetime) -> list[RailSilence]:
    """Return the outages of which this process may query early: each minute, and at once when the breaker of a provider closes."""
    found = [outage for outage in outages if may_probe(outage, now=now)]
    closed = circuit_breaker.closed_again() if outages else ()
    return found + [
        outage for outage in outages if outage not in found and provider_of(outage.lane) in closed
    ]


def provider_of(lane: str) -> str:
    """Return the provider of a lane.

    >>> provider_of("bank:paystack_returns"), provider_of("acquirer:checkout")
    ('paystack', 'checkout')
    """
    return lane.partition(":")[2].removesuffix("_returns")


def may_probe(outage: RailSilence, *, now: datetime) -> bool:
    """Return whether this process may query early. Only one process may in each interval."""
    last = RailSilence.objects.filter(lane=outage.lane, probed_at__lte=now - PROBE_INTERVAL)
    return last.update(probed_at=now) > 0


def early_queries_from(outage: RailSilence) -> datetime:
    """Return the earliest creation time of outcomes that may be queried before they are due."""
    return outage.since - BEFORE_OUTAGE


@database.atomic
def end_outage(lane: Lane, *, now: datetime) -> int:
    """End the outage of a rail that has answered, make its waiting queries and looks due, and return their number."""
    outage = RailSilence.objects.select_for_update().filter(lane=str(lane)).first()
    if outage is None:
        return 0
    outage.delete()
    if now - outage.since < SHORTEST_OUTAGE:
        return 0
    created_from = early_queries_from(outage)
    found = [
        queryset.filter(created_at__gte=created_from, queries_made__gt=0)
        for queryset in (lane.transactions, lane.operations)
    ]
    return sum(bring_forward(queryset, now=now) for queryset in found) + _bring_looks_forward(lane, now=now)


def _bring_looks_forward(lane: Lane, *, now: datetime) -> int:
    """Make the looks at the watched payments of an acquirer due, and return their number."""
    if lane.rail != ACQUIRER:
        return 0
    waiting = WatchedAuthorisation.objects.filter(next_look_at__gt=now)
    found = waiting.filter(transaction__connector=lane.connector).order_by("next_look_at")
    keys = list(found.values_list("pk", flat=True)[:AT_ONCE])
    return waiting.filter(pk__in=keys).update(next_look_at=now)


def bring_forward(queryset: QuerySet[Any], *, now: datetime) -> int:
    """Make the queries of unanswered rows due, and return their number. Locked rows keep their time."""
    unlocked = (
        queryset.filter(next_query_at__gt=now)
        .select_for_update(skip_locked=True, of=("self",))
        .order_by("next_query_at")
    )
    keys = list(unlocked.values_list("pk", flat=True)[:AT_ONCE])
    return int(queryset.model._default_manager.filter(pk__in=keys).update(next_query_at=now))
