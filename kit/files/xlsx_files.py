"""Excel files of tables. Rows are written to a temporary file one by one, so that memory doesn't grow with them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import IO, Any

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from kit.files.tables import Table, Value

MOST_ROWS = 100_000  # without the heading: about 15 seconds of work. Excel itself has 1,048,576.
DIGITS = 15  # that Excel keeps of a number
NARROWEST, WIDEST = 12, 40  # columns, in characters

_NOT_IN_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")  # control characters are escaped by XlsxWriter
TIME = 'yyyy-mm-dd"T"hh:mm:ss.000"Z"'
DAY = "yyyy-mm-dd"

# No text becomes a formula, a link or a number.
OPTIONS = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
    "remove_timezone": True,
}


class TooManyRows(Exception):
    """The table has more than `MOST_ROWS` rows."""


def write(table: Table[Any], file: IO[bytes]) -> None:
    """Write a table as an Excel file with one sheet: numbers and times as such, texts as texts.

    :raises TooManyRows: the table has more than `MOST_ROWS` rows; the file is incomplete
    """
    with Workbook(file, OPTIONS) as book:
        sheet = book.add_worksheet()
        _write_head(book, sheet, table)
        cells = _Cells(book, sheet)
        for row, values in enumerate(table.values(), start=1):
            if row > MOST_ROWS:
                raise TooManyRows
            for column, value in enumerate(values):
                cells.write(row, column, value)


def _write_head(book: Workbook, sheet: Worksheet, table: Table[Any]) -> None:
    bold = book.add_format({"bold": True})
    for column, name in enumerate(table.headings):
        sheet.set_column(column, column, min(max(len(name) + 2, NARROWEST), WIDEST))
        sheet.write_string(0, column, _plain(name), bold)
    sheet.freeze_panes(1, 0)


class _Cells:
    """Writes values into cells, with the number format of their kind."""

    def __init__(self, book: Workbook, sheet: Worksheet) -> None:
        self._book, self._sheet = book, sheet
        self._formats: dict[str, Format] = {}

    def write(self, row: int, column: int, value: Value) -> None:
        if value is None or value == "":
            return
        if isinstance(value, datetime):
            self._sheet.write_datetime(row, column, value.astimezone(UTC), self._format(TIME))
        elif isinstance(value, date):
            self._sheet.write_datetime(row, column, value, self._format(DAY))
        elif isinstance(value, int | Decimal) and _is_exact(value):
            self._sheet.write_number(row, column, value, self._format(_number_format(value)))
        else:
            self._sheet.write_string(row, column, _plain(str(value)))

    def _format(self, number_format: str) -> Format:
        if number_format not in self._formats:
            self._formats[number_format] = self._book.add_format({"num_format": number_format})
        return self._formats[number_format]


def _is_exact(value: int | Decimal) -> bool:
    """Return whether Excel keeps every digit of a number."""
    return len(Decimal(value).as_tuple().digits) <= DIGITS


def _number_format(value: int | Decimal) -> str:
    """Return the format that shows a number with its own decimals.

    >>> _number_format(5), _number_format(Decimal("1.50")), _number_format(Decimal("1500"))
    ('0', '#,##0.00', '#,##0')
    """
    if isinstance(value, int):
        return "0"
    decimals = -int(value.as_tuple().exponent)
    return f"#,##0.{'0' * decimals}" if decimals else "#,##0"


def _plain(text: str) -> str:
    """Return a text as XlsxWriter and XML take it.

    XlsxWriter writes a text between <r> and </r> as markup, which could be anything, so it gets an apostrophe in front,
    as in CSV files.

    >>> _plain("<r>1</r>"), _plain("a\uffff")
    ("'<r>1</r>", 'a\ufffd')
    """
    text = _NOT_IN_XML.sub("\ufffd", text)
    return f"'{text}" if text.startswith("<r>") else text
