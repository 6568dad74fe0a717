"""The wrong cells of a sheet that a page names without an input for each: alike ones together, with their rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dashboard.payout_batches.sheets import CellError

MOST_LINES = 1_000
TO = "\u2013"  # an en dash


@dataclass(frozen=True, slots=True, kw_only=True)
class AlikeErrors:
    """Cells of one column with the same message. `value` is empty if they differ in what they have."""

    label: str
    value: str
    message: str
    rows: str  # such as "101-140, 152"
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherErrors:
    """What a page names of further wrong cells, and how many more there are."""

    lines: Sequence[AlikeErrors]
    number: int
    unnamed: int


def further_errors(errors: Sequence[CellError]) -> FurtherErrors | None:
    """Return errors, alike ones together; None if there are none."""
    found: dict[tuple[str, str], list[CellError]] = {}
    for each in errors:
        found.setdefault((each.label, each.message), []).append(each)
    lines = [_alike(label, message, cells) for (label, message), cells in found.items()]
    named = lines[:MOST_LINES]
    unnamed = len(errors) - sum(line.number for line in named)
    return FurtherErrors(lines=named, number=len(errors), unnamed=unnamed) if errors else None


def _alike(label: str, message: str, cells: Sequence[CellError]) -> AlikeErrors:
    values = {cell.value for cell in cells}
    return AlikeErrors(
        label=label,
        value=values.pop() if len(values) == 1 else "",
        message=message,
        rows=ranges(cell.row for cell in cells),
        number=len(cells),
    )


def ranges(numbers: Iterable[int]) -> str:
    """Write ascending numbers, adjacent ones as a range.

    >>> ranges([1, 2, 3, 7, 9, 10]).replace(TO, "-")
    '1-3, 7, 9-10'
    """
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1][1:] = [number]
        else:
            found.append([number])
    return ", ".join(TO.join(f"{each:,}" for each in part) for part in found)
