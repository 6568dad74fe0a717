"""Figures of two releases beside each other, measured in rounds that alternate."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, TypeVar

from benchmarks.figures import number

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Comparison:
    """A figure of both releases: a value of each for each round."""

    name: str
    unit: str
    base: Sequence[float]
    new: Sequence[float]

    @classmethod
    def of(
        cls, name: str, unit: str, base: Sequence[Any], new: Sequence[Any], attribute: str
    ) -> "Comparison":
        """Return the figure that an attribute of each round is."""
        return cls(name, unit, *([getattr(one, attribute) for one in rounds] for rounds in (base, new)))

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


def in_turns(pair: Sequence[T], measure: Callable[[T], R], *, rounds: int) -> tuple[list[R], list[R]]:
    """Measure the base and the new release in turns; each is first in every other round."""
    base, new = pair
    found: tuple[list[R], list[R]] = ([], [])
    for number_of_round in range(rounds):
        turns = [(base, found[0]), (new, found[1])]
        for measured, results in turns if number_of_round % 2 == 0 else reversed(turns):
            results.append(measure(measured))
    return found


def print_comparisons(comparisons: Iterable[Comparison], *, base: str, new: str) -> None:
    """Print the medians of both releases, and the median ratio with its smallest and largest round."""
    print(f"\n{'median of the rounds':<58} {base:>10} {new:>10}        {'new/base':>9}")
    for comparison in comparisons:
        print(comparison.line())
