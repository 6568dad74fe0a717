r"""Statements as CSV, by the mapping of the bank account.

| Key | Meaning |
|---|---|
| `date` | heading of the column with the day |
| `date_format` | such as `%d/%m/%Y`; by default `%Y-%m-%d` |
| `amount` | heading of the signed amount, or of the amount without sign if there is `sign` |
| `sign`, `debit_sign` | heading of the column that says debit or credit, and what it says for a debit (`D` by default) |
| `debit`, `credit` | headings of two columns instead of `amount` |
| `decimal` | `.` or `,` |
| `balance` | heading of the balance after the line; without it, opening and closing balances are given |
| `reference`, `text`, `counterparty`, `kind`, `currency`, `account` | headings of further columns |
| `fee` | of a file of an acquirer without balances: heading of what it keeps of each amount |
| `settled` | of the same: `sum`, if the sum of a file is paid out to our bank |
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import BinaryIO
from uuid import uuid5

from cash.models import BankAccount
from cash.statement_files.parsed import (
    InvalidAmount,
    InvalidFile,
    Parsed,
    ParsedLine,
    amount_of,
    own_reference,
)
from kit.files import csv_reading

COLUMNS = (
    "date", "amount", "sign", "debit", "credit", "balance", "reference", "text", "counterparty", "kind", "currency",
    "account", "fee",
)  # fmt: skip
OPTIONS = ("date_format", "decimal", "debit_sign", "settled")
FEE, PAID_OUT = "provider fee", "paid_out"  # kinds of the lines that are added
SEPARATORS = ",;\t|"
HEADING_WITHIN = 30  # lines from the beginning of the file
OPEN_HEADING = "line {}: a quote in the heading isn't closed."


@dataclass(frozen=True, slots=True)
class _Row:
    """A line with the cells that the mapping names."""

    number: int
    cells: Mapping[str, str]


def mistakes(mapping: Mapping[str, object]) -> Iterator[str]:
    """Yield what is wrong with a mapping."""
    unknown = sorted(set(mapping) - {*COLUMNS, *OPTIONS})
    if unknown:
        yield f"Unknown: {', '.join(unknown)}. Known: {', '.join((*COLUMNS, *OPTIONS))}."
    if not all(isinstance(value, str) and value for value in mapping.values()):
        yield "Each value must be a text."
    if "date" not in mapping:
        yield "date is missing."
    if ("amount" in mapping) == ("debit" in mapping or "credit" in mapping):
        yield "Name either amount, or debit and credit."
    if ("debit" in mapping) != ("credit" in mapping):
        yield "Name both debit and credit."
    yield from _mistakes_of_options(mapping)


def _mistakes_of_options(mapping: Mapping[str, object]) -> Iterator[str]:
    if "balance" in mapping and ("fee" in mapping or "settled" in mapping):
        yield "fee and settled are for files without balances."
    if mapping.get("settled", "sum") != "sum":
        yield "settled must be sum."
    if mapping.get("decimal", ".") not in (".", ","):
        yield "decimal must be a point or a comma."


def read(file: BinaryIO, account: BankAccount, *, opening: int | None, closing: int | None) -> Parsed:
    """Return the statement of a file.

    :raises InvalidFile: it can't be read, or its balances are missing
    """
    if not account.csv_mapping:
        raise InvalidFile(
            f"{account.name} has no CSV mapping. Add it in the administration, at Bank accounts."
        )
    lines, balances, named = _lines(file, account)
    if not lines:
        raise InvalidFile("The file has a heading and no lines.")
    days = [line.booked_on for line in lines]
    if _is_newest_first(lines, balances):
        lines.reverse()
        balances.reverse()
    if balances:
        _require_chain(lines, balances)
        opening = balances[0] - lines[0].amount if opening is None else opening
        closing = balances[-1] if closing is None else closing
    if not account.is_at_bank and not balances:  # it lists payments, and knows no balances
        lines += _settled(lines, account, max(days))
        opening = account.closing_before(min(days)) if opening is None else opening
        closing = opening + sum(line.amount for line in lines) if closing is None else closing
    if opening is None or closing is None:
        raise InvalidFile("The mapping names no balance column, so give --opening and --closing.")
    return Parsed(
        place="the file",
        account=_same("account", named),
        currency=_same("currency", named),
        first_day=min(days),
        last_day=max(days),
        opening=opening,
        closing=closing,
        lines=lines,
    )


def _settled(lines: Sequence[ParsedLine], account: BankAccount, day: date) -> Iterator[ParsedLine]:
    """Yield that the sum was paid out to our bank, if the mapping says so."""
    total = sum(line.amount for line in lines)
    if account.csv_mapping.get("settled") and total:
        key = uuid5(account.pk, f"settled {day}")
        yield ParsedLine(
            place="the sum", booked_on=day, amount=-total, order=key, reference=f"{day}", kind=PAID_OUT
        )


def _lines(
    file: BinaryIO, account: BankAccount
) -> tuple[list[ParsedLine], list[int], dict[str, dict[str, int]]]:
    """Return the lines, their balances, and which accounts and currencies they name, with a line of each."""
    lines: list[ParsedLine] = []
    balances: list[int] = []
    fees_of_payments: list[int] = []
    fees_of_others: list[int] = []
    named: dict[str, dict[str, int]] = {"account": {}, "currency": {}}
    for row in _rows(
        file, account.csv_mapping
    ):  # one at a time, because the cells of all rows need much memory
        lines.append(_line(row, account))
        if "balance" in row.cells:
            balances.append(_balance(row, account))
        if row.cells.get("fee"):
            fees = fees_of_payments if lines[-1].amount > 0 else fees_of_others
            fees.append(_read(row, "fee", account))
        for name, found in named.items():
            found.setdefault(row.cells.get(name, ""), row.number)
    if kept := _kept(fees_of_payments, fees_of_others):
        day = max(line.booked_on for line in lines)
        lines.append(
            ParsedLine(place="the fees", booked_on=day, amount=-kept, order=None, kind=FEE, text="All fees")
        )
    return lines, balances, named


def _kept(of_payments: Sequence[int], of_others: Sequence[int]) -> int:
    """Return what an acquirer kept, less what it gave back with refunds.

    Some write what they keep with a minus sign. The fees of payments say so. Without them, all are taken for costs.
    """
    if not any(of_payments):
        return sum(abs(each) for each in of_others)
    total = sum(of_payments)
    return (total + sum(of_others)) * (-1 if total < 0 else 1)


def _rows(file: BinaryIO, mapping: Mapping[str, str]) -> Iterator[_Row]:
    """Yield the rows below the heading. Rows without a day, such as totals, aren't lines."""
    text = io.StringIO(_decoded(file.read()), newline="")
    wanted = {name: mapping[name].strip().lower() for name in COLUMNS if name in mapping}
    above, separator = _find_heading(text, list(wanted.values()))
    rows, number = csv_reading.rows(text, separator=separator), above + 1
    heading = _heading(rows, above)
    if not set(heading).issuperset(wanted.values()):
        raise InvalidFile(OPEN_HEADING.format(above + 1))
    places = {name: heading.index(title) for name, title in wanted.items()}
    try:
        for below, cells in rows:
            number = above + below
            if any(cell.strip() for cell in cells):
                if len(cells) <= max(places.values()):
                    raise InvalidFile(f"line {number}: it has too few cells.")
                yield _Row(number, {name: cells[place].strip() for name, place in places.items()})
    except csv.Error as error:
        raise InvalidFile(f"line {number + 1}: this is not CSV ({error}).") from None


def _heading(rows: Iterator[tuple[int, list[str]]], above: int) -> list[str]:
    try:
        return [name.strip().lower() for name in next(rows)[1]]
    except csv.Error:
        raise InvalidFile(OPEN_HEADING.format(above + 1)) from None


def _decoded(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings = ["utf-16"]
    else:
        encodings = ["utf-8-sig", "cp1252", "latin-1"]
    for encoding in encodings:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise InvalidFile("The file is not text.")


def _find_heading(text: io.StringIO, titles: Sequence[str]) -> tuple[int, str]:
    """Move to the heading. Return how many lines are above it, and its separator."""
    for above in range(HEADING_WITHIN):
        start = text.tell()
        line = text.readline()
        for separator in SEPARATORS:
            if _cells(line, separator).issuperset(titles):
                text.seek(start)
                return above, separator
        if not line:
            break
    raise InvalidFile(f"No heading names the columns of the mapping: {', '.join(titles)}.")


def _cells(line: str, separator: str) -> set[str]:
    try:
        return {cell.strip().lower() for cell in next(csv.reader([line], delimiter=separator), [])}
    except csv.Error:
        return set()  # no heading: a cell is too long


def _line(row: _Row, account: BankAccount) -> ParsedLine:
    cells = row.cells
    reference, text, counterparty = (cells.get(name, "") for name in ("reference", "text", "counterparty"))
    return ParsedLine(
        place=f"line {row.number}",
        booked_on=_day(row, account.csv_mapping.get("date_format", "%Y-%m-%d")),
        amount=_amount(row, account),
        order=own_reference(reference, text, counterparty),
        reference=reference,
        kind=cells.get("kind", ""),
        counterparty=counterparty,
        text=text,
    )


def _day(row: _Row, form: str) -> date:
    try:
        return datetime.strptime(row.cells["date"], form).date()  # noqa: DTZ007
    except ValueError:
        raise InvalidFile(f"line {row.number}: {row.cells['date'][:30]!r} is not a day as {form}.") from None


def _amount(row: _Row, account: BankAccount) -> int:
    cells, mapping = row.cells, account.csv_mapping
    if "amount" not in mapping:
        # Banks write either cell, or 0 in the other one. Some write debits with a minus sign.
        debit, credit = (_read(row, name, account) if cells[name] else 0 for name in ("debit", "credit"))
        return credit - abs(debit)
    amount = _read(row, "amount", account)
    if "sign" not in mapping:
        return amount
    is_debit = cells["sign"].lower() == mapping.get("debit_sign", "D").lower()
    return -abs(amount) if is_debit else abs(amount)


def _balance(row: _Row, account: BankAccount) -> int:
    return _read(row, "balance", account)


def _read(row: _Row, name: str, account: BankAccount) -> int:
    try:
        return amount_of(row.cells[name], account.currency, decimal=account.csv_mapping.get("decimal", "."))
    except InvalidAmount as wrong:
        raise InvalidFile(f"line {row.number}: {wrong}.") from None


def _is_newest_first(lines: Sequence[ParsedLine], balances: Sequence[int]) -> bool:
    first, last = lines[0], lines[-1]
    if first.booked_on != last.booked_on or len(balances) < 2:  # noqa: PLR2004
        return first.booked_on > last.booked_on
    return balances[1] != balances[0] + lines[1].amount and balances[0] == balances[1] + first.amount


def _require_chain(lines: Sequence[ParsedLine], balances: Sequence[int]) -> None:
    for line, before, after in zip(lines[1:], balances, balances[1:], strict=False):
        if after != before + line.amount:
            raise InvalidFile(f"{line.place}: the balance is not the one before with the amount of the line.")


def _same(name: str, named: Mapping[str, Mapping[str, int]]) -> str:
    """Return the value of a column that all lines share."""
    found = named[name]
    if len(found) > 1:
        raise InvalidFile(f"line {max(found.values())}: the {name} is not that of the other lines.")
    return next(iter(found))
