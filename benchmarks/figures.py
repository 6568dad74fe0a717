"""Figures with their targets and spreads, and the printed table."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Self


@dataclass(frozen=True)
class Figure:
    """A measured value. `target` is an upper limit, or a lower limit with `at_least`."""

    name: str
    value: float
    unit: str
    target: float | None = None
    at_least: bool = False
    note: str = ""

    @classmethod
    def of_rounds(
        cls,
        name: str,
        values: Sequence[float],
        unit: str,
        target: float | None = None,
        *,
        at_least: bool = False,
    ) -> Self:
        """Return the median of the rounds, with the minimum and maximum."""
        spread = f"[{number(min(values))} … {number(max(values))}]" if len(values) > 1 else ""
        return cls(name, median(values), unit, target, at_least, spread)

    @classmethod
    def of_ratios(
        cls,
        name: str,
        ours: Iterable[float],
        theirs: Iterable[float],
        target: float | None = None,
        *,
        at_least: bool = True,
    ) -> Self:
        """Return the median ratio of our rounds to the yardstick's adjacent rounds."""
        ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
        return cls.of_rounds(name, ratios, "times", target, at_least=at_least)

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        holds = self.value >= self.target if self.at_least else self.value <= self.target
        return "holds" if holds else "MISSED"

    def line(self) -> str:
        wanted = (
            "" if self.target is None else f"{'≥' if self.at_least else '≤'} {self.target:,.4g} {self.unit}"
        )
        return f"{self.name:<62} {number(self.value):>9} {self.unit:<6} {wanted:>14}  {self.verdict:<7} {self.note}"


def print_table(figures: Iterable[Figure]) -> None:
    print(f"\n{'figure':<62} {'measured':>16} {'target':>14}  verdict")
    for figure in figures:
        print(figure.line())
    print(f"load average after: {os.getloadavg()[0]:.2f}")


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def seconds_of(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
