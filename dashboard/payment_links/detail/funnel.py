"""The funnel of a payment link: how many payers opened it, started a checkout and paid, with bounded queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Count, Q, Sum

from dashboard.ui.lists.bounded_totals import MOST_COUNTED
from dashboard.ui.lists.bounded_totals import Count as Number
from kit.time.time_ordered_ids import earliest_id
from payments.models import LinkDay, PaymentLink, Transaction

PERIODS = (7, 30, 90)  # days, of which today is one


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelStep:
    """A step as it is drawn. The heights are percentages of the largest step."""

    name: str
    figure: str
    note: str
    height: int
    lost: int  # of the step before

    @property
    def top(self) -> int:
        return 100 - self.height

    @property
    def top_of_lost(self) -> int:
        return self.top - self.lost


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelPeriod:
    """The last days of a link. `opened` is an estimate: views by browsers, one per address and half hour."""

    days: int
    opened: int
    started: int  # checkouts
    paid: Number  # payments that were begun in these days and succeeded

    @property
    def started_rate(self) -> str:
        return rate(self.started, self.opened)

    @property
    def paid_rate(self) -> str:
        return rate(self.paid.number, self.started) if self.paid.is_exact else ""

    @property
    def steps(self) -> Iterator[FunnelStep]:
        """Yield the steps, in their order."""
        most = max(self.opened, self.started, self.paid.number, 1)
        paid_note = f"{self.paid_rate} of started" if self.paid_rate else ""
        started_note = f"{self.started_rate} of opened" if self.started_rate else ""
        before = 0
        for name, number, figure, note in (
            ("Opened", self.opened, f"{self.opened:,}", "Estimate"),
            ("Started", self.started, f"{self.started:,}", started_note),
            ("Paid", self.paid.number, str(self.paid), paid_note),
        ):
            height = round(100 * number / most)
            yield FunnelStep(name=name, figure=figure, note=note, height=height, lost=max(before - height, 0))
            before = height


def funnel_of(link: PaymentLink, *, now: datetime) -> Sequence[FunnelPeriod]:
    """Return the funnel of each period, the shortest first. Days are UTC days, by which the views are counted."""
    starts = {days: _start(days, now=now) for days in PERIODS}
    views = _views(link, starts)
    paid = _paid(link, starts)
    return [
        FunnelPeriod(
            days=days, opened=views[f"opened_{days}"], started=views[f"started_{days}"], paid=paid[days]
        )
        for days in PERIODS
    ]


def rate(part: int, whole: int) -> str:
    """Return a share in percent; empty if there is none, as when an estimate is too low.

    >>> rate(28, 46), rate(1, 300), rate(0, 5), rate(3, 0), rate(3, 2)
    ('61%', '0.3%', '0%', '', '')
    """
    if not whole or part > whole:
        return ""
    percent = 100 * part / whole
    return f"{percent:.1f}%" if 0 < percent < 1 else f"{percent:.0f}%"


def _start(days: int, *, now: datetime) -> datetime:
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=days - 1)


def _views(link: PaymentLink, starts: dict[int, datetime]) -> dict[str, int]:
    """Sum up the rows of the days, of which there is one for each day."""
    sums = {
        f"{column}_{days}": Sum(column, filter=Q(day__gte=start.date()), default=0)
        for days, start in starts.items()
        for column in ("opened", "started")
    }
    longest = min(starts.values())
    return LinkDay.objects.filter(link=link, day__gte=longest.date()).aggregate(**sums)


def _paid(link: PaymentLink, starts: dict[int, datetime]) -> dict[int, Number]:
    """Count the successes among the newest payments. A period with more payments than are read isn't exact."""
    longest = earliest_id(min(starts.values()))
    newest = Transaction.objects.filter(payment_link=link, id__gte=longest).order_by("-id")[:MOST_COUNTED]
    counts: dict[str, Count] = {}
    for days, start in starts.items():
        within = Q(id__gte=earliest_id(start))
        counts[f"begun_{days}"] = Count("pk", filter=within)
        counts[f"paid_{days}"] = Count("pk", filter=within & Q(status=Transaction.Status.SUCCESS))
    found = newest.aggregate(**counts)
    return {
        days: Number(found[f"paid_{days}"], is_exact=found[f"begun_{days}"] < MOST_COUNTED) for days in starts
    }
