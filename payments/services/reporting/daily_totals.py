"""Totals of a business by days of its time zone: exact at any time, and fast at any volume.

The scheduler rolls up each day (UTC) once, after it has ended, by hour: zones have whole-hour offsets, so each hour is
part of one day of any zone. Finished transactions never change in the counted columns, so their totals stay correct.
Unfinished ones are stored as ids and queried each time. Today, and days not rolled up yet, are counted from the
transactions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db import models
from django.db import transaction as database
from django.db.models import Case, Count, F, Max, Q, QuerySet, Sum, When
from django.db.models.functions import TruncHour

from kit.db.prepared_statements import insert_if_absent
from kit.time.time_ordered_ids import earliest_id
from kit.time.time_zones import day_begins
from merchants.models import Business
from payments.models import CountedDay, HourlyTotals, Transaction

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
HOURS = 24  # of a day (UTC)
LONGEST = 90  # days of the longest report, including today
INSERT_DELAY = timedelta(hours=1)  # upper bound of the time between a transaction's id and its insert
AT_ONCE = 1000  # ids per statement
CHUNK = 50_000  # transactions counted per statement, well below the limit of 30 seconds

GROUP_BY = ("request_type", "method", "status", "currency", "response_code")
VOLUME = Sum(Case(When(method=Transaction.Method.CARD, then=F("amount_captured")), default=F("amount")))
# The id of an unfinished transaction. Each forms its own group, so that one statement returns counts and ids.
UNFINISHED = Case(When(status=Transaction.Status.PENDING, then=F("pk")), output_field=models.UUIDField())


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The number and volume of similar transactions of one day, in minor units."""

    day: date  # in the business's time zone
    request_type: str
    method: str
    status: str
    currency: str
    response_code: str
    count: int
    volume: int  # captured amounts of card payments, full amounts of others


def tallies(business: Business, *, first: date, last: date) -> Sequence[Tally]:
    """Return the tallies of days in the business's time zone. Days before `first_day` must not be asked for."""
    begin, end = day_begins(first, business.zone), day_begins(last + DAY, business.zone)
    # Query this first. A day that is rolled up later is then counted from its transactions only.
    open_from = max(begin, _begin(_rolled_up_to(begin.date()) + DAY))
    days = {"day__gte": begin.date(), "day__lt": min(open_from, end + DAY).date()}
    over = list(HourlyTotals.objects.filter(business=business, **days))
    unfinished = [key for totals in over for key in totals.unfinished]
    mine = Transaction.objects.of(business).filter(_between(begin, end))
    parts = [mine.filter(pk__in=keys) for keys in _chunked(unfinished)]
    if open_from < end:
        parts.append(mine.filter(_between(open_from, end)))
    counted = [tally for totals in over for tally in _by_day(totals, business.zone)]
    return [*(each for each in counted if first <= each.day <= last), *_count(parts, business.zone)]


def first_day(business: Business, *, now: datetime) -> date:
    """Return the first day whose totals are known, in the business's time zone."""
    return now.astimezone(business.zone).date() - (LONGEST - 1) * DAY


def roll_up(*, now: datetime) -> Iterator[date]:
    """Roll up past days, oldest first, and yield each. Then update earlier totals with transactions finished since."""
    today = (now - INSERT_DELAY).date()
    first = now.date() - LONGEST * DAY  # a day more: west of UTC, today may still be yesterday
    day = max(first, _rolled_up_to(first) + DAY)
    while day < today:
        if _roll_up(day):
            yield day
        day += DAY
    for totals in HourlyTotals.objects.filter(day__gte=first).exclude(unfinished=[]):
        _update_unfinished(totals)


def _rolled_up_to(first: date) -> date:
    newest: date | None = CountedDay.objects.aggregate(newest=Max("day"))["newest"]
    return newest or first - DAY


def _roll_up(day: date) -> bool:
    """Store all businesses' totals of a day. Returns False if another process has already stored them.

    Counts in chunks outside the database transaction, so that statements stay short and no locks are held. Each
    transaction is in one chunk. One that finishes after its chunk was counted stays listed as unfinished. If two
    processes count the same day, the first writer wins.
    """
    if CountedDay.objects.filter(day=day).exists():
        return False
    found: dict[Any, HourlyTotals] = {}
    for chunk in _chunks(day):
        for row in _count_with_unfinished(chunk, "business_id"):
            business = row.pop("business_id")
            totals = found.setdefault(
                business, HourlyTotals(business_id=business, day_id=day, tallies=[], unfinished=[])
            )
            _add(row, totals)
    return _write(day, found.values())


def _chunks(day: date) -> Iterator[QuerySet[Transaction]]:
    """Yield the transactions of a day in chunks of at most `CHUNK`, by id."""
    of_day = Transaction.objects.filter(_between(_begin(day), _begin(day + DAY))).order_by("pk")
    begin, end = earliest_id(_begin(day)), earliest_id(_begin(day + DAY))
    while True:
        following = of_day.filter(pk__gte=begin).values_list("pk", flat=True)[CHUNK : CHUNK + 1].first()
        yield Transaction.objects.filter(pk__gte=begin, pk__lt=following or end)
        if following is None:
            return
        begin = following


@database.atomic
def _write(day: date, totals: Iterable[HourlyTotals]) -> bool:
    if not insert_if_absent(CountedDay(day=day)):
        return False
    HourlyTotals.objects.bulk_create(totals, batch_size=500)
    return True


def _update_unfinished(totals: HourlyTotals) -> None:
    """Add the transactions that have finished since. A concurrent update also writes correct totals."""
    named, totals.unfinished = totals.unfinished, []
    for keys in _chunked(named):
        for row in _count_with_unfinished(Transaction.objects.filter(pk__in=keys)):
            _add(row, totals)
    if len(totals.unfinished) < len(named):
        totals.save(update_fields=["tallies", "unfinished"])


def _add(row: dict[str, Any], totals: HourlyTotals) -> None:
    if unfinished := row.pop("unfinished"):
        totals.unfinished.append(str(unfinished))
        return
    alike = [tally for tally in totals.tallies if all(tally[name] == row[name] for name in GROUP_BY)]
    if not alike:
        kind = {name: row[name] for name in GROUP_BY}
        alike = [{**kind, "counts": [0] * HOURS, "volumes": [0] * HOURS}]
        totals.tallies += alike
    alike[0]["counts"][row["hour"].hour] += row["count"]
    alike[0]["volumes"][row["hour"].hour] += row["volume"]


def _by_day(totals: HourlyTotals, zone: ZoneInfo) -> Iterator[Tally]:
    """Sum the hours of a day (UTC) by days of a time zone."""
    for day, hours in _days_of(totals.day_id, zone):
        for tally in totals.tallies:
            kind = {name: tally[name] for name in GROUP_BY}
            if count := sum(tally["counts"][hours]):
                yield Tally(day=day, count=count, volume=sum(tally["volumes"][hours]), **kind)


def _days_of(day: date, zone: ZoneInfo) -> Iterator[tuple[date, slice]]:
    """Yield the days of a time zone during a day (UTC), each with its hours of that day.

    >>> [(str(day), hours.stop) for day, hours in _days_of(date(2026, 3, 10), ZoneInfo("Africa/Lagos"))]
    [('2026-03-10', 23), ('2026-03-11', 24)]
    """
    begin, hour = _begin(day), 0
    while hour < HOURS:
        local = (begin + hour * HOUR).astimezone(zone).date()
        end = min((day_begins(local + DAY, zone) - begin) // HOUR, HOURS)
        yield local, slice(hour, end)
        hour = end


def _count(parts: Sequence[QuerySet[Transaction]], zone: ZoneInfo) -> list[Tally]:
    """Count disjoint querysets in one statement. Each uses its own index."""
    if not parts:
        return []
    first, *others = (
        part.annotate(hour=TruncHour("created_at", tzinfo=UTC))
        .values("hour", *GROUP_BY)
        .annotate(count=Count("pk"), volume=VOLUME)
        .order_by()
        for part in parts
    )
    rows: Any = first.union(*others, all=True)
    return [Tally(day=row.pop("hour").astimezone(zone).date(), **row) for row in rows]


def _count_with_unfinished(transactions: QuerySet[Transaction], *by: str) -> Iterator[dict[str, Any]]:
    """Count the finished transactions and list the others, in one statement for a consistent snapshot."""
    hours = transactions.annotate(unfinished=UNFINISHED, hour=TruncHour("created_at", tzinfo=UTC))
    rows: Any = hours.values(*by, *GROUP_BY, "hour", "unfinished")
    yield from rows.annotate(count=Count("pk"), volume=VOLUME).order_by().iterator()


def _between(begin: datetime, end: datetime) -> Q:
    # By id, which begins with the time and is indexed.
    return Q(id__gte=earliest_id(begin), id__lt=earliest_id(end))


def _begin(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


def _chunked(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for place in range(0, len(keys), AT_ONCE):
        yield keys[place : place + AT_ONCE]
