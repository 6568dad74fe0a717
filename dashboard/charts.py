"""Charts as plain geometry in a box of 100 by 100: templates draw it, and the box is stretched to its place.

>>> chart = columns([Column("1 Jan", (3, 1)), Column("2 Jan", (0, 0))])
>>> [(bar.height, bar.y, bar.series) for bar in chart.bars], chart.top
([(60.0, 40.0, 1), (20.0, 20.0, 2)], 5)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BOX = 100.0
GAP = 0.28  # of a column's width, left free
STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Column:
    """One place on the axis, and what is stacked there, from the bottom up."""

    label: str
    values: tuple[int, ...]
    told: str = ""  # what a reader who points at it is told


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    series: int  # from 1


@dataclass(frozen=True, slots=True)
class Slot:
    """The whole height of a column: what is pointed at."""

    x: float
    width: float
    told: str


@dataclass(frozen=True, slots=True)
class ColumnChart:
    bars: Sequence[Bar]
    slots: Sequence[Slot]
    top: int  # the value at the upper edge
    first: str
    last: str

    @property
    def is_empty(self) -> bool:
        return not self.bars


def columns(given: Sequence[Column]) -> ColumnChart:
    """Stack each column's values; the tallest nearly fills the box."""
    top = round_up(max((sum(column.values) for column in given), default=0))
    step = BOX / max(len(given), 1)
    bars = [bar for place, column in enumerate(given) for bar in _stack(column, place * step, step, top)]
    slots = [Slot(_rounded(place * step), _rounded(step), each.told) for place, each in enumerate(given)]
    labels = [column.label for column in given] or [""]
    return ColumnChart(bars, slots, top, labels[0], labels[-1])


def _stack(column: Column, left: float, step: float, top: int) -> list[Bar]:
    bars, base = [], BOX
    for series, value in enumerate(column.values, start=1):
        if value > 0:
            height = value / top * BOX
            base -= height
            x, width = left + step * GAP / 2, step * (1 - GAP)
            bars.append(Bar(_rounded(x), _rounded(base), _rounded(width), _rounded(height), series))
    return bars


@dataclass(frozen=True, slots=True)
class LineChart:
    lines: Sequence[str]  # each the `points` of a polyline
    top: int


def lines(series: Sequence[Sequence[float | None]]) -> LineChart:
    """Draw one line for each series over the same places; where a value is missing, it goes straight on.

    >>> lines([[1.0, None, 2.0]]).lines
    ['16.67,50.0 83.33,0.0']
    >>> lines([[None, 2.0, None]]).lines
    ['49.0,0.0 51.0,0.0']
    """
    top = round_up(max((value for each in series for value in each if value is not None), default=0))
    return LineChart([_line(each, top) for each in series], top)


def _line(values: Sequence[float | None], top: int) -> str:
    step = BOX / max(len(values), 1)
    points = [
        ((place + 0.5) * step, BOX - value / top * BOX)
        for place, value in enumerate(values)
        if value is not None
    ]
    if len(points) == 1:  # a lone point is drawn as a dash: a dot would hardly be seen
        ((x, y),) = points
        points = [(x - 1, y), (x + 1, y)]
    return " ".join(f"{_rounded(x)},{_rounded(y)}" for x, y in points)


def round_up(value: float) -> int:
    """Return the next number that reads well: 1, 2 or 5 and zeros.

    >>> [round_up(value) for value in (0, 1, 3, 7, 12, 180, 999)]
    [1, 1, 5, 10, 20, 200, 1000]
    """
    power = 1
    while True:
        for step in STEPS:
            if value <= step * power:
                return step * power
        power *= 10


def _rounded(number: float) -> float:
    return round(number, 2)
