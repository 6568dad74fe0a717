"""What charts share: their box, the value at its upper edge, and their days. Geometry is in percent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

DAY = timedelta(days=1)
WEEK = 7
MOST_BARS = 31  # more days are shown as weeks: their bars would be too narrow to be read or pressed
LABELS = 8

BOX = 100.0
STEPS = (1, 2, 5)


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


@dataclass(frozen=True, slots=True)
class Label:
    x: str
    text: str
    is_minor: bool  # left out on phones


def size_of(days: int) -> int:
    """Return how many days a bar of a chart has."""
    return WEEK if days > MOST_BARS else 1


def spans(days: int, *, today: date, size: int) -> list[tuple[date, date]]:
    """Return the first and last day of each bar. The last one ends today, the first one may be shorter.

    >>> [f"{first:%d.%m.}-{last:%d.%m.}" for first, last in spans(9, today=date(2026, 3, 9), size=7)]
    ['01.03.-02.03.', '03.03.-09.03.']
    """
    begin = today - (days - 1) * DAY
    ends = [today - place * DAY for place in range(0, days, size)]
    return [(max(begin, end - (size - 1) * DAY), end) for end in reversed(ends)]


def labels(shown: Sequence[tuple[date, date]]) -> list[Label]:
    count = len(shown)
    step = -(-count // LABELS)
    return [
        Label(
            x=percent(place + 0.5, count),
            text=f"{shown[place][0]:%-d %b}",
            is_minor=bool(number % 2),
        )
        for number, place in enumerate(range(0, count, step))
    ]


def percent(place: float, count: int) -> str:
    return f"{place / count * 100:.3g}%"


def days_text(first: date, last: date) -> str:
    return f"{first:%-d %b}" if first == last else f"{first:%-d %b} to {last:%-d %b}"
