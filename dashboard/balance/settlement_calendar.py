"""The month of settlements: what was released on each day, and what is expected on the next ones."""

from __future__ import annotations

from calendar import Calendar
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Max, Q
from django.urls import reverse

from dashboard.ui.components.charts import DAY
from kit.money.money import approximate
from merchants.models import Business
from payments.models import ReserveHold, SettlementBatch, Transaction

MOST_LATE = 62 * DAY  # a release after the month that the batch is of
State = Transaction.SettleStatus
UNRELEASED = (State.INITIATED, State.PENDING, State.APPROVED)


class Batch(NamedTuple):
    """What the calendar reads of a settlement batch."""

    pk: UUID
    net: int
    state: str
    released_at: datetime | None


@dataclass(frozen=True, slots=True)
class CalendarDay:
    """A day of the month. Without a sum, nothing is settled on it."""

    day: date
    sum: str = ""
    is_expected: bool = False
    address: str = ""
    still_expected: str = ""  # beside what was released on the day
    expected_address: str = ""


@dataclass(frozen=True, slots=True)
class SettlementCalendar:
    weeks: Sequence[Sequence[CalendarDay | None]]  # None: a day of another month
    month: date
    today: date


def calendar_of(
    business: Business,
    currency: str,
    *,
    month: date,
    today: date,
    pending: int,
    holds: Iterable[ReserveHold],
) -> SettlementCalendar:
    """Return the month of a day in one currency, with one query. `pending`: the balance that isn't settled yet."""
    batches = _batches(business, currency, month=month)
    released: dict[date, list[Batch]] = defaultdict(list)
    for batch in batches:
        if batch.released_at:
            released[batch.released_at.astimezone(business.zone).date()].append(batch)
    waiting = sum(batch.net for batch in batches if batch.state in UNRELEASED)
    expected: dict[date, int] = defaultdict(int)
    expected[today] += waiting
    expected[today + DAY] += max(pending - waiting, 0)
    for hold in holds:
        if hold.returns_at and hold.currency == currency:
            expected[max(hold.returns_at.astimezone(business.zone).date(), today)] += hold.left
    weeks = Calendar().monthdatescalendar(month.year, month.month)
    return SettlementCalendar(
        [
            [_day(day, released, expected, currency) if day.month == month.month else None for day in week]
            for week in weeks
        ],
        month,
        today,
    )


def _batches(business: Business, currency: str, *, month: date) -> list[Batch]:
    """Return the batches that were released in a month or wait for it, and some others."""
    released = Max("transitions__at", filter=Q(transitions__after=State.RELEASED))
    found = (
        SettlementBatch.objects.of(business)
        .filter(Q(day__gte=month.replace(day=1) - MOST_LATE) | Q(state__in=UNRELEASED), currency=currency)
        .exclude(state=State.REJECTED)
        .annotate(released=released)
        .values_list("pk", "net", "state", "released")
    )
    return [Batch(*row) for row in found]


def _day(
    day: date, released: Mapping[date, Sequence[Batch]], expected: Mapping[date, int], currency: str
) -> CalendarDay:
    due = approximate(expected[day], currency) if expected.get(day) else ""
    waiting = f"{reverse('dashboard-settlements')}?{urlencode({'currency': currency})}" if due else ""
    if batches := released.get(day):
        address = (
            f"../settlements/{batches[0].pk}/"  # short, as a month has many
            if len(batches) == 1
            else f"{reverse('dashboard-settlements')}?{urlencode({'state': State.RELEASED, 'currency': currency})}"
        )
        total = approximate(sum(each.net for each in batches), currency)
        return CalendarDay(day, total, False, address, due, waiting)
    return CalendarDay(day, due, bool(due), waiting)
