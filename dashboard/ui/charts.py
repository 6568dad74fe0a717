"""Chart geometry, in a box that templates stretch to fit.

>>> chart = columns([Column("1 Jan", (3, 1)), Column("2 Jan", (2, 0))])
>>> chart.series, chart.top
(['M0 100V40M1 100V60', 'M0 40V20'], 5)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

BOX = 100.0
STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its label on the axis, and its stacked values from the bottom up."""

    label: str
    values: tuple[int, ...]
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class ColumnChart:
    """A stacked column chart in a box with a width of 1 per column and a height of 100. Paths keep its markup small."""

    # One path for each value of the columns, from the bottom up; a stroke for each bar, at the column's left edge.
    series: Sequence[str]
    tooltips: Sequence[str]  # one for each column
    top: int  # the value at the upper edge
    first: str
    last: str

    @property
    def is_empty(self) -> bool:
        return not any(self.series)


def columns(given: Sequence[Column]) -> ColumnChart:
    """Stack each column's values. The tallest column nearly fills the box."""
    top = round_up(max((sum(column.values) for column in given), default=0))
    bars = [_stack(column, place, top) for place, column in enumerate(given)]
    series = ["".join(each) for each in zip(*bars, strict=True)]
    labels = [column.label for column in given] or [""]
    return ColumnChart(series, [each.tooltip for each in given], top, labels[0], labels[-1])


def _stack(column: Column, x: int, top: int) -> list[str]:
    """Return the stroke of each value; an empty text for zero."""
    heights = [BOX - total / top * BOX for total in accumulate(column.values, initial=0)]
    return [
        f"M{x} {base:.3g}V{end:.3g}" if value > 0 else ""
        for value, base, end in zip(column.values, heights[:-1], heights[1:], strict=True)
    ]


@dataclass(frozen=True, slots=True)
class LineChart:
    lines: Sequence[str]  # each the `points` of a polyline
    top: int


def lines(series: Sequence[Sequence[float | None]]) -> LineChart:
    """Draw one line for each series, connecting the points on both sides of missing values.

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
    if len(points) == 1:  # a single point is drawn as a short line, because a dot is hardly visible
        ((x, y),) = points
        points = [(x - 1, y), (x + 1, y)]
    return " ".join(f"{_rounded(x)},{_rounded(y)}" for x, y in points)


def round_up(value: float) -> int:
    """Round up to 1, 2 or 5 times a power of ten.

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
