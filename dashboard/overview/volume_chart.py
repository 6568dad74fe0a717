"""The chart of the overview: the volume of each day, or of each week in a long period. Geometry is in percent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from dashboard.ui.components.charts import (
    BOX,
    DAY,
    Label,
    days_text,
    labels,
    percent,
    round_up,
    size_of,
    spans,
)
from kit.money.money import compact, money
from kit.text.plurals import counted

QUARTERS = (4, 3, 2, 1, 0)
WIDTH = 10  # of a bar with its gaps, in the box of the paths


@dataclass(frozen=True, slots=True)
class DayVolume:
    """The successful payments of a day, in minor units."""

    card: int = 0
    transfer: int = 0
    count: int = 0

    def __add__(self, other: DayVolume) -> DayVolume:
        return DayVolume(self.card + other.card, self.transfer + other.transfer, self.count + other.count)

    @property
    def total(self) -> int:
        return self.card + self.transfer


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A bar with its reading. It links to the payments of its days."""

    first: date
    last: date
    volume: DayVolume
    currency: str
    x: str  # of its left edge, in percent

    @property
    def days(self) -> str:
        return days_text(self.first, self.last)

    @property
    def amount(self) -> str:
        return money(self.volume.total, self.currency)

    @property
    def payments(self) -> str:
        return counted(self.volume.count, "payment")


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeChart:
    bars: Sequence[Bar]
    width: int  # of the paths' box
    card_path: str
    transfer_path: str
    past: str  # the points of the previous period; empty if it isn't known
    scale: Sequence[str]
    labels: Sequence[Label]
    period: str
    is_by_week: bool

    @property
    def is_empty(self) -> bool:
        return not (self.card_path or self.transfer_path)


def volume_chart(
    volumes: Mapping[date, DayVolume], *, days: int, today: date, currency: str, has_past: bool
) -> VolumeChart:
    """Chart the volume of the last `days` days, and that of the period before as a line."""
    size = size_of(days)
    shown = spans(days, today=today, size=size)
    sums = [_sum(volumes, *span) for span in shown]
    shift = days * DAY
    past = [_sum(volumes, first - shift, last - shift).total for first, last in shown] if has_past else []
    top = round_up(max([each.total for each in sums] + past, default=0))
    count = len(shown)
    return VolumeChart(
        bars=[
            _bar(span, volume, place=place, count=count, currency=currency)
            for place, (span, volume) in enumerate(zip(shown, sums, strict=True))
        ],
        width=count * WIDTH,
        card_path=_path([(0, each.card) for each in sums], top),
        transfer_path=_path([(each.card, each.transfer) for each in sums], top),
        past=_line(past, top) if any(past) else "",
        scale=_scale(top, currency),
        labels=labels(shown),
        period=days_text(shown[0][0], shown[-1][1]),
        is_by_week=size > 1,
    )


def _sum(volumes: Mapping[date, DayVolume], first: date, last: date) -> DayVolume:
    days = (first + place * DAY for place in range((last - first).days + 1))
    return sum((volumes.get(day, DayVolume()) for day in days), DayVolume())


def _bar(span: tuple[date, date], volume: DayVolume, *, place: int, count: int, currency: str) -> Bar:
    return Bar(
        first=span[0],
        last=span[1],
        volume=volume,
        currency=currency,
        x=percent(place, count),
    )


def _path(parts: Sequence[tuple[int, int]], top: int) -> str:
    """Return one path for a series: what is below each bar, and its value.

    >>> _path([(0, 50), (25, 0), (0, 1)], 100)
    'M2 50h6v50h-6zM22 99h6v1h-6z'
    """
    bars = []
    for place, (below, value) in enumerate(parts):
        if value:
            height, base = value / top * BOX, BOX - below / top * BOX
            bars.append(f"M{place * WIDTH + 2} {base - height:.3g}h6v{height:.3g}h-6z")
    return "".join(bars)


def _line(values: Sequence[int], top: int) -> str:
    return " ".join(
        f"{place * WIDTH + WIDTH // 2},{BOX - value / top * BOX:.3g}" for place, value in enumerate(values)
    )


def _scale(top: int, currency: str) -> list[str]:
    """Return the labels of the vertical axis, from the top down.

    >>> _scale(20_000_000, "NGN")
    ['NGN 200k', '150k', '100k', '50k', '0']
    """
    first, *rest = (compact(top * quarter // 4, currency) for quarter in QUARTERS)
    return [f"{currency} {first}", *rest]
