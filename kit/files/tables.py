r"""Tables for export: each column is declared once, for CSV and Excel files.

>>> columns = [Column("reference", lambda row: row[0]), Column("amount", lambda row: row[1])]
>>> table = Table(columns=columns, rows=[("order-1", decimal_amount(250_050, "NGN")), ("=1+1", None)])
>>> list(csv_lines(table))
['reference,amount\r\n', 'order-1,2500.50\r\n', "'=1+1,\r\n"]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from operator import attrgetter
from typing import Any, Generic, TypeAlias, TypeVar
from uuid import UUID

from kit.files.csv_cells import Cell, line
from kit.money.money import decimal_amount
from kit.time.timestamps import timestamp

R = TypeVar("R")

_IDENTIFIER = re.compile("[a-z0-9_]+")
_WORDS = re.compile("[a-z]+|[0-9]+")
_ABBREVIATIONS = {"id": "ID", "url": "URL", "ip": "IP"}

# Amounts are `Decimal`, in major units with the decimals of their currency.
Value: TypeAlias = str | int | Decimal | datetime | date | UUID | None


@dataclass(frozen=True, slots=True)
class Column(Generic[R]):
    """A column: its heading, and the value of a row in it. Excel files have the title as heading.

    >>> [Column(name, str).heading for name in ("created_at", "settlement_id", "card_last4", "Your size?")]
    ['Created at, UTC', 'Settlement ID', 'Card last 4', 'Your size?']
    """

    name: str
    value: Callable[[R], Value]
    title: str = ""

    @property
    def heading(self) -> str:
        """Return the title, or the name as people write it if it is an identifier. Times name their zone."""
        if self.title or not _IDENTIFIER.fullmatch(self.name):
            return self.title or self.name
        text = " ".join(_ABBREVIATIONS.get(word, word) for word in _WORDS.findall(self.name))
        zone = ", UTC" if self.name.endswith("_at") else ""
        return f"{text[:1].upper()}{text[1:]}{zone}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Generic[R]):
    """Columns and rows. The rows are read once, so they may be an iterator over a whole list."""

    columns: Sequence[Column[R]]
    rows: Iterable[R]

    @property
    def head(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def headings(self) -> list[str]:
        return [column.heading for column in self.columns]

    def values(self) -> Iterator[list[Value]]:
        """Yield the values of each row."""
        for row in self.rows:
            yield [column.value(row) for column in self.columns]


def attributes(*names: str) -> list[Column[Any]]:
    """Return columns that show attributes of the rows.

    >>> [column.name for column in attributes("reference", "status")]
    ['reference', 'status']
    """
    return [Column(name, attrgetter(name)) for name in names]


def amounts(*names: str) -> list[Column[Any]]:
    """Return columns that show attributes with minor units, in the rows' `currency`."""
    return [Column(name, _amount(name)) for name in names]


def csv_lines(table: Table[Any]) -> Iterator[str]:
    """Yield the lines of a CSV file. Safe to open in a spreadsheet. Times are RFC 3339 in UTC."""
    yield line(table.head)
    for values in table.values():
        yield line([_cell(value) for value in values])


def _amount(name: str) -> Callable[[Any], Decimal | None]:
    def value(row: Any) -> Decimal | None:
        minor_units = getattr(row, name)
        return None if minor_units is None else decimal_amount(minor_units, row.currency)

    return value


def _cell(value: Value) -> Cell:
    if isinstance(value, datetime):
        return timestamp(value)
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value
