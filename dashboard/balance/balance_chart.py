"""The chart of the balance: its level at the end of each day, or of each week in a long period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from dashboard.ui.components.charts import BOX, DAY, Label, days_text, labels, percent, size_of, spans
from kit.money.money import MINUS, compact, money

SHOWN, SHORTEST, LONGEST = 30, 7, 366  # days
QUARTER = (10, 15, 20, 25, 30, 40, 50, 60, 80)  # of the box, times a power of ten
WIDTH = 10  # of a point, in the box of the paths


@dataclass(frozen=True, slots=True)
class ChartPeriod:
    """The days of the chart."""

    first: date
    last: date

    @classmethod
    def of(cls, since: date | None, until: date | None, *, today: date) -> ChartPeriod:
        """Return the filtered days. A few are too short for a chart, and the longest is a year.

        >>> march = [date(2026, 3, day) for day in (1, 9, 31)]
        >>> period = ChartPeriod.of(march[0], march[1], today=march[2])
        >>> str(period.first), str(ChartPeriod.of(march[1], march[1], today=march[2]).first)
        ('2026-03-01', '2026-02-08')
        """
        last = min(until or today, today)
        days = (last - since).days + 1 if since else SHOWN
        return cls(last - (min(days if days >= SHORTEST else SHOWN, LONGEST) - 1) * DAY, last)

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def spans(self) -> list[tuple[date, date]]:
        """Return the first and last day of each point."""
        return spans(self.days, today=self.last, size=size_of(self.days))

    @property
    def name(self) -> str:
        return days_text(self.first, self.last)


@dataclass(frozen=True, slots=True)
class Point:
    """The balance after some days."""

    first: date
    last: date
    x: str  # of its left edge, in percent
    amount: str

    @property
    def days(self) -> str:
        return days_text(self.first, self.last)


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceChart:
    points: Sequence[Point]
    lowest: Point
    width: int  # of the paths' box
    line: str
    wash: str
    zero: str  # where the balance is 0, in percent
    scale: Sequence[str]
    labels: Sequence[Label]


def balance_chart(levels: Sequence[int], *, period: ChartPeriod, currency: str) -> BalanceChart:
    """Chart the balance after each of the period's spans, in minor units."""
    shown = period.spans
    count = len(shown)
    step, bottom = _quarter(min(levels), max(levels))
    points = [
        Point(*span, percent(place, count), money(level, currency))
        for place, (span, level) in enumerate(zip(shown, levels, strict=True))
    ]
    heights = [BOX - (level - bottom) / (4 * step) * BOX for level in [*levels, 0]]
    line = _stairs(heights[:-1])
    zero = f"{heights[-1]:.3g}"
    return BalanceChart(
        points=points,
        lowest=points[levels.index(min(levels))],
        width=count * WIDTH,
        line=line,
        wash=f"{line}V{zero}H0z",
        zero=zero,
        scale=_scale(step, bottom, currency),
        labels=labels(shown),
    )


def _quarter(least: int, most: int) -> tuple[int, int]:
    """Return the height of a quarter of the box, and the value at its lower edge: 0, or below it for debts.

    >>> _quarter(2_059_968_00, 5_300_000_00), _quarter(0, 0), _quarter(-30, 40)
    ((150000000, 0), (10, 0), (20, -40))
    """
    power = 1
    while True:
        for step in (each * power for each in QUARTER):
            bottom = min(least, 0) // step * step
            if bottom + 4 * step >= most:
                return step, bottom
        power *= 10


def _stairs(heights: Sequence[float]) -> str:
    """Return a path that keeps each height for the width of a point.

    >>> _stairs([50, 25.5])
    'M0 50H10V25.5H20'
    """
    first, *others = (f"{height:.3g}" for height in heights)
    steps = "".join(f"V{height}H{(place + 2) * WIDTH}" for place, height in enumerate(others))
    return f"M0 {first}H{WIDTH}{steps}"


def _scale(step: int, bottom: int, currency: str) -> list[str]:
    """Return the labels of the vertical axis, from the top down."""
    values = [bottom + quarter * step for quarter in (4, 3, 2, 1, 0)]
    first, *rest = (f"{MINUS if value < 0 else ''}{compact(abs(value), currency)}" for value in values)
    return [f"{currency} {first}", *rest]
