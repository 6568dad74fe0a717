r"""Statement files of an acquirer or a bank: CSV in UTF-8 with a header row.

>>> heading = "reference,amount,currency,day,direction"
>>> (row,) = read(f"{heading}\n603209000042,50000,NGN,2026-02-01,in\n".encode()).rows
>>> row.line, row.reference, row.amount, row.day.isoformat(), row.direction
(2, '603209000042', 50000, '2026-02-01', 'in')
"""

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from kit.plurals import counted
from payments.business_days import read_day

COLUMNS = ("reference", "amount", "currency", "day", "direction")
IN, OUT = "in", "out"
FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2099, 12, 31)
MOST_ERRORS = 20  # shown at most, because the same mistake is often on every line


class InvalidStatement(ValueError):
    """No line of the file can be compared. `errors` holds the reasons with line numbers, but no file contents."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementFile:
    """The valid lines, and the errors of the others with line numbers, but no file contents."""

    rows: list[Row]
    wrong_lines: int
    errors: tuple[str, ...]


def read(content: bytes) -> StatementFile:
    """Parse a statement. Invalid lines are reported, and the others are still compared.

    :raises InvalidStatement: the header row is invalid, or no line can be compared
    """
    # Invalid UTF-8 becomes lone surrogates, so that it invalidates only its own line.
    text = content.decode("utf-8-sig", "surrogateescape")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        heading = [name.strip().lower() for name in next(reader, [])]
    except csv.Error as error:
        raise InvalidStatement(f"line {reader.line_num}: this is not CSV ({error}).") from None
    _check_heading(heading)
    rows: list[Row] = []
    wrong: list[list[str]] = []
    for line in _lines(reader, heading):
        if isinstance(line, Row):
            rows.append(line)
        else:
            wrong.append(line)
    errors = [error for of_line in wrong for error in of_line]
    shown = (
        *errors[:MOST_ERRORS],
        *([f"… and {more} more."] if (more := len(errors) - MOST_ERRORS) > 0 else []),
    )
    if not rows:
        raise InvalidStatement(*(shown or ["The file has a heading and no lines."]))
    return StatementFile(rows=rows, wrong_lines=len(wrong), errors=shown)


def _check_heading(heading: list[str]) -> None:
    missing = [name for name in COLUMNS if name not in heading]
    if missing:
        raise InvalidStatement(f"line 1: the heading lacks {', '.join(missing)}.")
    twice = sorted({name for name in COLUMNS if heading.count(name) > 1})
    if twice:
        raise InvalidStatement(f"line 1: the heading has {', '.join(twice)} more than once.")


def _lines(reader: Any, heading: list[str]) -> Iterator[Row | list[str]]:
    """Yield each non-empty line as a row or as a list of its errors."""
    while True:
        first = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            last = reader.line_num  # an unclosed quotation mark swallows all lines to the end
            where = f"line {last}" if last <= first else f"lines {first} to {last}"
            yield [f"{where}: this is not CSV ({error})."]
            continue
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield _row(reader.line_num, cells, heading)


def _row(line: int, cells: list[str], heading: list[str]) -> Row | list[str]:
    if any("\udc80" <= letter <= "\udcff" for cell in cells for letter in cell):
        return [f"line {line}: this is not UTF-8."]
    if len(cells) != len(heading):
        return [f"line {line}: {counted(len(cells), 'cell')} instead of {len(heading)}."]
    texts = {name: cell.strip() for name, cell in zip(heading, cells, strict=True)}
    values: dict[str, Any] = {name: CELLS[name].read(texts[name]) for name in COLUMNS}
    wrong = [name for name, value in values.items() if value is None]
    if wrong:
        return [f"line {line}: {name} must be {CELLS[name].says}." for name in wrong]
    return Row(line=line, **values)


@dataclass(frozen=True, slots=True)
class Cell:
    """The parser of a column, and its description in errors."""

    read: Callable[[str], Any]
    says: str


def _amount(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,13}", text, re.ASCII) and int(text) > 0 else None


def _day(text: str) -> date | None:
    day = read_day(text)
    return day if day and FIRST_DAY <= day <= LAST_DAY else None


def _matching(pattern: str) -> Callable[[str], str | None]:
    return lambda text: text if re.fullmatch(pattern, text, re.ASCII) else None


CELLS = {
    "reference": Cell(_matching(r"[ -~]{1,100}"), "1 to 100 plain characters"),
    "amount": Cell(_amount, "a whole number of minor units above 0, of at most 13 digits"),
    "currency": Cell(_matching(r"[A-Z]{3}"), "three capitals, such as NGN"),
    "day": Cell(_day, "a day from 2000 to 2099, such as 2026-01-31"),
    "direction": Cell(_matching("in|out"), "in or out"),
}
