"""Figures, each with its target, and the table that they are printed in."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured value. `target` is a limit from above, or from below where `at_least` says so."""

    name: str
    value: float
    unit: str
    target: float | None = None
    at_least: bool = False
    note: str = ""

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
        measured = f"{self.value:,.0f}" if self.value >= 100 else f"{self.value:,.3g}"
        return f"{self.name:<58} {measured:>9} {self.unit:<5} {wanted:>14}  {self.verdict:<7} {self.note}"


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
