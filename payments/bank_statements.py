r"""Statements of an acquirer or a bank, as files: CSV in UTF-8 with a heading.

>>> heading = "reference,amount,currency,day,direction"
>>> (row,) = read(f"{heading}\n603209000042,50000,NGN,2026-02-01,in\n".encode())
>>> row.line, row.reference, row.amount, row.day.isoformat(), row.direction
(2, '603209000042', 50000, '2026-02-01', 'in')
"""

import csv
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from payments.business_days import read_day

COLUMNS = ("reference", "amount", "currency", "day", "direction")
IN, OUT = "in", "out"
MOST_ERRORS = 20  # that are told; a wrong file is often wrong in every line


class WrongFile(ValueError):
    """The file is not such a statement. `errors` says why, with line numbers and without its contents."""

    def __init__(self, *errors: str) -> None:
        super().__init__("\n".join(errors))
        self.errors = errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of a statement. Amounts are minor units."""

    line: int
    reference: str  # RRN, the acquirer's transaction identifier, the bank's reference, or ours
    amount: int
    currency: str
    day: date
    direction: str  # "in": to us; "out": from us


def read(content: bytes) -> list[Row]:
    """Return the statement's lines.

    :raises WrongFile: anything in it is wrong
    """
    reader = csv.reader(io.StringIO(_decoded(content), newline=""), strict=True)
    try:
        heading = [name.strip().lower() for name in next(reader, [])]
        _check_heading(heading)
        rows, errors = _rows(reader, heading)
    except csv.Error as error:
        raise WrongFile(f"line {reader.line_num}: this is not CSV ({error}).") from None
    if errors:
        more = len(errors) - MOST_ERRORS
        raise WrongFile(*errors[:MOST_ERRORS], *([f"… and {more} more."] if more > 0 else []))
    if not rows:
        raise WrongFile("The file has a heading and no lines.")
    return rows


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise WrongFile(f"line {line}: this is not UTF-8.") from None


def _check_heading(heading: list[str]) -> None:
    missing = [name for name in COLUMNS if name not in heading]
    if missing:
        raise WrongFile(f"line 1: the heading lacks {', '.join(missing)}.")
    twice = sorted({name for name in COLUMNS if heading.count(name) > 1})
    if twice:
        raise WrongFile(f"line 1: the heading has {', '.join(twice)} more than once.")


def _rows(reader: Any, heading: list[str]) -> tuple[list[Row], list[str]]:
    rows: list[Row] = []
    errors: list[str] = []
    for cells in reader:
        line = reader.line_num
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(heading):
            errors.append(f"line {line}: {len(cells)} cells instead of {len(heading)}.")
            continue
        told = {name: cell.strip() for name, cell in zip(heading, cells, strict=True)}
        values = {name: _read_cell(name, told[name]) for name in COLUMNS}
        wrong = [name for name, value in values.items() if value is None]
        errors += [f"line {line}: {name} must be {CELLS[name].says}." for name in wrong]
        if not wrong:
            rows.append(Row(line=line, **values))
    return rows, errors


@dataclass(frozen=True, slots=True)
class Cell:
    """How a column is read, and what an error says about it."""

    read: Callable[[str], Any]
    says: str


def _amount(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,13}", text, re.ASCII) and int(text) > 0 else None


def _matching(pattern: str) -> Callable[[str], str | None]:
    return lambda text: text if re.fullmatch(pattern, text, re.ASCII) else None


CELLS = {
    "reference": Cell(_matching(r"[ -~]{1,100}"), "1 to 100 plain characters"),
    "amount": Cell(_amount, "a whole number of minor units above 0"),
    "currency": Cell(_matching(r"[A-Z]{3}"), "three capitals, such as NGN"),
    "day": Cell(read_day, "a day, such as 2026-01-31"),
    "direction": Cell(_matching("in|out"), "in or out"),
}


def _read_cell(name: str, text: str) -> Any:
    return CELLS[name].read(text)
