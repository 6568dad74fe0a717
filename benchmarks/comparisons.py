"""Figures of two releases beside each other, measured in rounds that alternate."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from benchmarks.figures import number


@dataclass(frozen=True)
class Comparison:
    """A figure of both releases: a value of each for each round."""

    name: str
    unit: str
    base: Sequence[float]
    new: Sequence[float]

    @property
    def ratios(self) -> list[float]:
        """Return the ratio of the new release to the base of each round in which the base isn't zero."""
        return [new / base for base, new in zip(self.base, self.new, strict=True) if base]

    def line(self) -> str:
        ratios = self.ratios
        compared = (
            f"{median(ratios):>9.2f}  [{min(ratios):.2f} … {max(ratios):.2f}]" if ratios else "      none"
        )
        return f"{self.name:<58} {number(median(self.base)):>10} {number(median(self.new)):>10} {self.unit:<6} {compared}"

    def document(self) -> dict[str, Any]:
        return asdict(self) | {"ratio": median(self.ratios) if self.ratios else None}


def print_comparisons(comparisons: Iterable[Comparison], *, base: str, new: str) -> None:
    """Print the medians of both releases, and the median ratio with its smallest and largest round."""
    print(f"\n{'median of the rounds':<58} {base:>10} {new:>10}        {'new/base':>9}")
    for comparison in comparisons:
        print(comparison.line())
