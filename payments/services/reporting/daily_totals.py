"""Daily totals of a business (UTC): exact at any time, and fast at any volume.

The scheduler rolls up each day once, after it has ended. Finished transactions never change in the counted columns, so
their totals stay correct. Unfinished ones are stored as ids and queried each time. Today, and days not rolled up yet,
are counted from the transactions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import models
from django.db import transaction as database
from django.db.models import Case, Count, F, Max, Q, QuerySet, Sum, When
from django.db.models.functions import TruncDate

from kit.db.prepared_statements import insert_if_absent
from kit.time_ordered_ids import earliest_id
from merchants.models import Business
from payments.models import DayTotals, RolledDay, Transaction

DAY = timedelta(days=1)
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

    day: date
    request_type: str
    method: str
    status: str
    currency: str
    response_code: str
    count: int
    volume: int  # captured amounts of card payments, full amounts of others


def tallies(business: Business, *, days: int, now: datetime) -> Sequence[Tally]:
    """Return the tallies of the last `days` days, including today."""
    today = now.date()
    first = today - (days - 1) * DAY
    # Query this first. A day that is rolled up later is then counted from its transactions only.
    open_from = max(first, _rolled_up_to(first) + DAY)
    over = list(DayTotals.objects.filter(business=business, day__gte=first, day__lt=open_from))
    unfinished = [key for totals in over for key in totals.unfinished]
    mine = Transaction.objects.of(business)
    open_days = mine.filter(_between(open_from, today))
    return [
        *(Tally(day=totals.day_id, **tally) for totals in over for tally in totals.tallies),
        *_count(open_days, *(mine.filter(pk__in=keys) for keys in _chunked(unfinished))),
    ]


def roll_up(*, now: datetime) -> Iterator[date]:
    """Roll up past days, oldest first, and yield each. Then update earlier totals with transactions finished since."""
    today = (now - INSERT_DELAY).date()
    first = now.date() - (LONGEST - 1) * DAY
    day = max(first, _rolled_up_to(first) + DAY)
    while day < today:
        if _roll_up(day):
            yield day
        day += DAY
    for totals in DayTotals.objects.filter(day__gte=first).exclude(unfinished=[]):
        _update_unfinished(totals)


def _rolled_up_to(first: date) -> date:
    newest: date | None = RolledDay.objects.aggregate(newest=Max("day"))["newest"]
    return newest or first - DAY


def _roll_up(day: date) -> bool:
    """Store all businesses' totals of a day. Returns False if another process has already stored them.

    Counts in chunks outside the database transaction, so that statements stay short and no locks are held. Each
    transaction is in one chunk. One that finishes after its chunk was counted stays listed as unfinished. If two
    processes count the same day, the first writer wins.
    """
    if RolledDay.objects.filter(day=day).exists():
        return False
    found: dict[Any, DayTotals] = {}
    for chunk in _chunks(day):
        for row in _count_with_unfinished(chunk, "business_id"):
            business = row.pop("business_id")
            totals = found.setdefault(
                business, DayTotals(business_id=business, day_id=day, tallies=[], unfinished=[])
            )
            _add(row, totals)
    return _write(day, found.values())


def _chunks(day: date) -> Iterator[QuerySet[Transaction]]:
    """Yield the transactions of a day in chunks of at most `CHUNK`, by id."""
    of_day = Transaction.objects.filter(_between(day, day)).order_by("pk")
    begin, end = earliest_id(_begin(day)), earliest_id(_begin(day + DAY))
    while True:
        following = of_day.filter(pk__gte=begin).values_list("pk", flat=True)[CHUNK : CHUNK + 1].first()
        yield Transaction.objects.filter(pk__gte=begin, pk__lt=following or end)
        if following is None:
            return
        begin = following


@database.atomic
def _write(day: date, totals: Iterable[DayTotals]) -> bool:
    if not insert_if_absent(RolledDay(day=day)):
        return False
    DayTotals.objects.bulk_create(totals, batch_size=500)
    return True


def _update_unfinished(totals: DayTotals) -> None:
    """Add the transactions that have finished since. A concurrent update also writes correct totals."""
    named, totals.unfinished = totals.unfinished, []
    for keys in _chunked(named):
        for row in _count_with_unfinished(Transaction.objects.filter(pk__in=keys)):
            _add(row, totals)
    if len(totals.unfinished) < len(named):
        totals.save(update_fields=["tallies", "unfinished"])


def _add(row: dict[str, Any], totals: DayTotals) -> None:
    if unfinished := row.pop("unfinished"):
        totals.unfinished.append(str(unfinished))
        return
    alike = [tally for tally in totals.tallies if all(tally[name] == row[name] for name in GROUP_BY)]
    if alike:
        alike[0]["count"] += row["count"]
        alike[0]["volume"] += row["volume"]
    else:
        totals.tallies.append(row)


def _count(*parts: QuerySet[Transaction]) -> list[Tally]:
    """Count disjoint querysets in one statement. Each uses its own index."""
    first, *others = (
        part.annotate(day=TruncDate("created_at", tzinfo=UTC))
        .values("day", *GROUP_BY)
        .annotate(count=Count("pk"), volume=VOLUME)
        .order_by()
        for part in parts
    )
    rows: Any = first.union(*others, all=True)
    return [Tally(**row) for row in rows]


def _count_with_unfinished(transactions: QuerySet[Transaction], *by: str) -> Iterator[dict[str, Any]]:
    """Count the finished transactions and list the others, in one statement for a consistent snapshot."""
    rows: Any = transactions.annotate(unfinished=UNFINISHED).values(*by, *GROUP_BY, "unfinished")
    yield from rows.annotate(count=Count("pk"), volume=VOLUME).order_by().iterator()


def _between(first: date, last: date) -> Q:
    # By id, which begins with the time and is indexed.
    return Q(id__gte=earliest_id(_begin(first)), id__lt=earliest_id(_begin(last + DAY)))


def _begin(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


def _chunked(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for place in range(0, len(keys), AT_ONCE):
        yield keys[place : place + AT_ONCE]
