r"""Statement files of an acquirer or a bank: CSV with a heading, also as spreadsheets save it.

The text is UTF-8, or UTF-16 with a byte order mark. The cells are separated by commas, semicolons or tabs, which the
heading decides. Lines above the heading are skipped: titles, blank lines, and a spreadsheet's `sep=;`.

>>> heading = "reference,amount,currency,day,direction"
>>> (row,) = read(f"{heading}\n603209000042,50000,NGN,2026-02-01,in\n".encode()).rows
>>> row.line, row.reference, row.amount, row.day.isoformat(), row.direction
(2, '603209000042', 50000, '2026-02-01', 'in')
>>> read(f"sep=;\n{heading}\n1;50000;NGN;2026-02-01;in\n".replace(",", ";").encode("utf-16")).rows[0].line
3
"""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from kit.text.masking import mask_card_numbers
from kit.text.plurals import counted
from payments.rules.business_days import read_day

COLUMNS = ("reference", "amount", "currency", "day", "direction")
IN, OUT = "in", "out"
FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2099, 12, 31)
LARGEST_AMOUNT = 10**16  # minor units, the largest transfer that is booked
SEPARATORS = ",;\t"
EXAMPLE = f"{','.join(COLUMNS)}\n603209000042,50000,NGN,2026-02-01,in"
HEADING_WITHIN = 20  # lines from the beginning of the file
LONGEST_FOUND = 100  # characters of a wrong heading that are shown
MOST_ERRORS = 20  # shown at most, because the same mistake is often on every line
# A long number as a spreadsheet saves it, such as 6.33019E+11: its last digits are lost.
_CUT_NUMBER = re.compile(r"-?[0-9]{1,3}(?:[.,][0-9]*)?E\+[0-9]{1,3}", re.ASCII | re.IGNORECASE)


class InvalidStatement(ValueError):
    """No line of the file can be compared.

    `errors` holds the reasons with line numbers. The only contents of the file in them are a wrong heading's, with
    card numbers masked.
    """

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
    file = io.StringIO(_decoded(content), newline="")
    above, separator = _find_heading(file)
    reader = csv.reader(file, delimiter=separator, strict=True)
    heading = _names(next(reader))
    twice = sorted({name for name in COLUMNS if heading.count(name) > 1})
    if twice:
        raise InvalidStatement(f"line {above + 1}: the heading has {', '.join(twice)} more than once.")
    rows: list[Row] = []
    wrong: list[list[str]] = []
    for line in _lines(reader, heading, above):
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


def _decoded(content: bytes) -> str:
    """Return the text of a file, whose byte order mark decides between UTF-16 and UTF-8."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return content.decode("utf-16")
        except UnicodeDecodeError:
            raise InvalidStatement(
                "The file begins as UTF-16, but is not UTF-16. Save it as UTF-8."
            ) from None
    # Invalid UTF-8 becomes lone surrogates, so that it invalidates only its own line.
    return content.decode("utf-8-sig", "surrogateescape")


def _find_heading(file: io.StringIO) -> tuple[int, str]:
    """Move to the heading, and return the number of lines above it and its separator.

    :raises InvalidStatement: none of the first lines has all columns
    """
    closest: tuple[int, int, list[str]] = (0, 1, [])  # columns it has, its line, its cells
    for above in range(HEADING_WITHIN):
        start = file.tell()
        for separator in SEPARATORS:
            file.seek(start)
            cells = _first_cells(file, separator)
            known = len(set(COLUMNS) & set(_names(cells)))
            if known == len(COLUMNS):
                file.seek(start)
                return above, separator
            if any(cells) and (not closest[2] or known > closest[0]):
                closest = known, above + 1, cells
        file.seek(start)
        if not file.readline():
            break
    _, line, cells = closest
    lacks = ", ".join(name for name in COLUMNS if name not in _names(cells))
    found = mask_card_numbers(", ".join(cells))[:LONGEST_FOUND].encode("utf-8", "replace").decode()
    raise InvalidStatement(
        f"line {line}: the heading lacks {lacks}. Found: {found or 'nothing'}\nExample:\n{EXAMPLE}"
    )


def _first_cells(file: io.StringIO, separator: str) -> list[str]:
    try:
        return next(csv.reader(file, delimiter=separator, strict=True), [])
    except csv.Error:
        return []


def _names(cells: list[str]) -> list[str]:
    return [cell.strip().lower() for cell in cells]


def _lines(reader: Any, heading: list[str], above: int) -> Iterator[Row | list[str]]:
    """Yield each non-empty line as a row or as a list of its errors. `above` lines precede the heading."""
    while True:
        first = above + reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            last = above + reader.line_num  # an unclosed quotation mark swallows all lines to the end
            where = f"line {last}" if last <= first else f"lines {first} to {last}"
            yield [f"{where}: this is not CSV ({error})."]
            continue
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield _row(above + reader.line_num, cells, heading)


def _row(line: int, cells: list[str], heading: list[str]) -> Row | list[str]:
    if any("\udc80" <= letter <= "\udcff" for cell in cells for letter in cell):
        return [f"line {line}: this is not UTF-8."]
    if len(cells) != len(heading):
        return [f"line {line}: {counted(len(cells), 'cell')} instead of {len(heading)}."]
    texts = {name: cell.strip() for name, cell in zip(heading, cells, strict=True)}
    cut = [name for name in ("reference", "amount") if _CUT_NUMBER.fullmatch(texts[name])]
    if cut:
        return [f"line {line}: a spreadsheet cut the {name}; format its column as text." for name in cut]
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
    return (
        int(text)
        if re.fullmatch(r"[0-9]{1,17}", text, re.ASCII) and 0 < int(text) <= LARGEST_AMOUNT
        else None
    )


def _day(text: str) -> date | None:
    day = read_day(text)
    return day if day and FIRST_DAY <= day <= LAST_DAY else None


def _matching(pattern: str) -> Callable[[str], str | None]:
    return lambda text: text if re.fullmatch(pattern, text, re.ASCII) else None


CELLS = {
    "reference": Cell(_matching(r"[ -~]{1,100}"), "1 to 100 plain characters"),
    "amount": Cell(_amount, "a whole number of minor units from 1 to 10000000000000000"),
    "currency": Cell(_matching(r"[A-Z]{3}"), "three capitals, such as NGN"),
    "day": Cell(_day, "a day from 2000 to 2099, such as 2026-01-31"),
    "direction": Cell(_matching("in|out"), "in or out"),
}
