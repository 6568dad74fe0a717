r"""Files in which an acquirer reports disputes: CSV in UTF-8 with a heading that has exactly these columns.

>>> heading = ",".join(COLUMNS)
>>> (row,) = read(f"{heading}\nC-1,chargeback,needs_response,632422000001,,50000,NGN,fraudulent,,2026-02-05\n".encode())
>>> row.line, row.values["case_number"], row.values["amount"], row.values["respond_by"]
(2, 'C-1', 50000, None)
>>> (row,) = read(f"{heading}\nC-1,chargeback,lost,633212706681,,50000,NGN,fraudulent,,2026-02-05\n".encode())
>>> row.errors
()
"""

import csv
import io
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from kit.text.masking import has_card_number, mask_card_numbers
from payments.rules.settlement.business_days import begins_at, read_day
from payments.rules.words.dispute_words import LONGEST_CASE_NUMBER, Reason, Stage, Status

COLUMNS = (
    "case_number",
    "stage",
    "status",
    "rrn",
    "acquirer_reference",
    "amount",
    "currency",
    "reason",
    "respond_by",
    "day",
)
LARGEST_FILE = 64 * 1024 * 1024  # bytes
LARGEST_AMOUNT = 10**12  # minor units, as of payments
LONGEST_CELL = 255  # characters kept of a cell that can't be read
EXAMPLE = (
    f"{','.join(COLUMNS)}\n"
    "CB-2026-000417,chargeback,needs_response,632422000001,,50000,NGN,fraudulent,2026-02-12T08:00:00Z,2026-02-05"
)


class InvalidFile(ValueError):
    """The file is refused whole. The message repeats nothing of it but its heading, with card numbers masked."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the file: its values, or why it can't be read."""

    line: int
    values: dict[str, Any] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()  # of a line with errors, card numbers masked


def read(content: bytes) -> list[Row]:
    """Parse a file.

    :raises InvalidFile: it is not CSV in UTF-8, is too large, or has another heading
    """
    if len(content) > LARGEST_FILE:
        raise InvalidFile(f"The file is larger than {LARGEST_FILE // 2**20} MiB.")
    try:
        text = content.decode("utf-8-sig")
        lines = csv.reader(io.StringIO(text, newline=""), strict=True)
        heading = [cell.strip().lower() for cell in next(lines, [])]
        _require(heading)
        return [
            _row(lines.line_num, [cell.strip() for cell in cells], heading)
            for cells in lines
            if any(cell.strip() for cell in cells)
        ]
    except UnicodeDecodeError:
        raise InvalidFile("The file is not text in UTF-8.") from None
    except csv.Error as error:
        raise InvalidFile(f"The file is not CSV ({error}).") from None


def _require(heading: list[str]) -> None:
    if sorted(heading) == sorted(COLUMNS):
        return
    found = mask_card_numbers(", ".join(heading))[:200]
    raise InvalidFile(f"The heading must be these columns. Found: {found or 'nothing'}\nExample:\n{EXAMPLE}")


def _row(line: int, cells: list[str], heading: list[str]) -> Row:
    if len(cells) != len(heading):
        return _unreadable(line, cells, [f"{len(cells)} cells instead of {len(heading)}"])
    texts = dict(zip(heading, cells, strict=True))
    values: dict[str, Any] = {}
    errors = []
    for name, cell in CELLS.items():
        try:
            values[name] = cell.read(texts[name])
        except ValueError:
            errors.append(f"{name} must be {cell.says}")
    if errors:
        return _unreadable(line, cells, errors)
    known = texts["reason"] in Reason.values
    values["reason"] = Reason(texts["reason"]) if known else Reason.GENERAL
    values["network_reason"] = "" if known else mask_card_numbers(texts["reason"])
    values["opened_at"] = begins_at(values.pop("day"))
    return Row(line, values)


def _unreadable(line: int, cells: list[str], errors: list[str]) -> Row:
    plain = (cell.replace("\0", "\ufffd") for cell in cells[: 2 * len(COLUMNS)])  # no database stores NUL
    kept = tuple(mask_card_numbers(cell)[:LONGEST_CELL] for cell in plain)
    return Row(line, errors=tuple(errors), cells=kept)


@dataclass(frozen=True, slots=True)
class Cell:
    """The parser of a column, which raises ValueError, and its description in errors."""

    read: Callable[[str], Any]
    says: str


def _matching(pattern: str) -> Callable[[str], str]:
    def read_text(text: str) -> str:
        if not re.fullmatch(pattern, text, re.ASCII):
            raise ValueError
        return text

    return read_text


def _case_number(text: str) -> str:
    """Return the number of a case. It can't be masked, because it is a key, and it is shown."""
    if not re.fullmatch(rf"[!-~]{{1,{LONGEST_CASE_NUMBER}}}", text, re.ASCII) or has_card_number(text):
        raise ValueError
    return text


def _amount(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,13}", text, re.ASCII) or not 0 < int(text) <= LARGEST_AMOUNT:
        raise ValueError
    return int(text)


def _moment(text: str) -> datetime | None:
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None or not _is_of_this_century(moment):
        raise ValueError
    return moment


def _day(text: str) -> Any:
    day = read_day(text)
    if day is None or not _is_of_this_century(day):
        raise ValueError
    return day


def _is_of_this_century(day: date) -> bool:
    return 2000 <= day.year < 2100  # noqa: PLR2004


CELLS = {
    "case_number": Cell(_case_number, f"1 to {LONGEST_CASE_NUMBER} plain characters and no card number"),
    "stage": Cell(Stage, f"one of {', '.join(Stage.values)}"),
    "status": Cell(Status, f"one of {', '.join(Status.values)}"),
    "rrn": Cell(_matching(r"|[0-9]{12}"), "12 digits or empty"),
    "acquirer_reference": Cell(_matching(r"[ -~]{0,64}"), "up to 64 plain characters"),
    "amount": Cell(_amount, f"a whole number of minor units from 1 to {LARGEST_AMOUNT}"),
    "currency": Cell(_matching(r"[A-Z]{3}"), "three capitals, such as NGN"),
    "reason": Cell(_matching(r"[ -~]{1,100}"), "1 to 100 plain characters"),
    "respond_by": Cell(_moment, "a time such as 2026-02-12T08:00:00Z, or empty"),
    "day": Cell(_day, "a day such as 2026-02-05"),
}
