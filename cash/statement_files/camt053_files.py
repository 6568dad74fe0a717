"""Statements as CAMT.053 of ISO 20022, in any of its versions. Entries are read one at a time, so that large files fit."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, BinaryIO
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from cash.models import BankAccount
from cash.statement_files.parsed import (
    InvalidAmount,
    InvalidFile,
    Parsed,
    ParsedLine,
    minor_units,
    own_reference,
)

OPENING, CLOSING = ("OPBD", "PRCD"), ("CLBD",)
TRUE = {"true", "1"}
TEXTS = ("EndToEndId", "InstrId", "TxId", "MsgId", "PmtInfId", "Ustrd", "AddtlNtryInf", "AddtlTxInf", "Ref")


def read(file: BinaryIO, account: BankAccount) -> list[Parsed]:
    """Return the statements of a file.

    :raises InvalidFile: it can't be read
    """
    try:
        statements = list(_statements(file, account))
    except InvalidFile:
        raise
    except (
        ParseError,
        DefusedXmlException,
        LookupError,
        ValueError,
    ) as error:  # the last two: of its encoding
        raise InvalidFile(f"This is not XML that can be read ({type(error).__name__}).") from None
    if not statements:
        raise InvalidFile("The file has no statement of CAMT.053.")
    return statements


def _statements(file: BinaryIO, account: BankAccount) -> Iterator[Parsed]:
    lines: list[ParsedLine] = []
    reversals: set[int] = set()  # their places in `lines`
    number, entries = 1, 0
    for _, element in iterparse(file):
        if _tag(element) == "Ntry":
            entries += 1
            line = _line(element, f"statement {number}, entry {entries}", account)
            if line and _text(element, "RvslInd") in TRUE:
                reversals.add(len(lines))
            lines += [line] if line else []
            element.clear()
        elif _tag(element) == "Stmt":
            yield _with_reversals(_statement(element, lines, f"statement {number}", account), reversals)
            lines, reversals, entries, number = [], set(), 0, number + 1
            element.clear()


def _with_reversals(statement: Parsed, reversals: set[int]) -> Parsed:
    """Return a statement with its reversals the other way round if its balances say so.

    By ISO 20022, their indicator is the way of the reversal. Some banks write that of the entry that is reversed.
    """
    if _fits(statement) or not reversals:
        return statement
    lines = [
        replace(line, amount=-line.amount) if place in reversals else line
        for place, line in enumerate(statement.lines)
    ]
    turned = replace(statement, lines=lines)
    return turned if _fits(turned) else statement


def _fits(statement: Parsed) -> bool:
    return statement.opening + sum(line.amount for line in statement.lines) == statement.closing


def _statement(element: Any, lines: list[ParsedLine], place: str, account: BankAccount) -> Parsed:
    balances = {_text(each, "Tp", "CdOrPrtry", "Cd"): each for each in _children(element, "Bal")}
    opening, closing = (_balance(balances, codes, place) for codes in (OPENING, CLOSING))
    last = _day(closing, "Dt", place=place)
    period = _child(element, "FrToDt")
    began = [_day(period, "FrDtTm", place=place)] if period is not None and _text(period, "FrDtTm") else []
    return Parsed(
        place=place,
        account=_text(element, "Acct", "Id", "IBAN") or _text(element, "Acct", "Id", "Othr", "Id"),
        currency=_text(element, "Acct", "Ccy") or _currency(opening),
        first_day=min([last, *began, *(line.booked_on for line in lines)]),
        last_day=max([last, *(line.booked_on for line in lines)]),
        opening=_amount(opening, place, account),
        closing=_amount(closing, place, account),
        lines=lines,
    )


def _balance(balances: dict[str, Any], codes: tuple[str, ...], place: str) -> Any:
    for code in codes:
        if code in balances:
            return balances[code]
    raise InvalidFile(f"{place}: its balance {codes[0]} is missing.")


def _line(entry: Any, place: str, account: BankAccount) -> ParsedLine | None:
    """Return a line. Entries that aren't booked yet are none."""
    if (_text(entry, "Sts", "Cd") or _text(entry, "Sts")) not in {"", "BOOK"}:
        return None
    texts = [each.text.strip() for each in entry.iter() if _tag(each) in TEXTS and (each.text or "").strip()]
    reference = _text(entry, "AcctSvcrRef") or _text(entry, "NtryRef")
    codes = _child(entry, "BkTxCd")
    amount = _amount(entry, place, account)
    return ParsedLine(
        place=place,
        booked_on=_day(entry, "BookgDt", "ValDt", place=place),
        amount=amount,
        order=own_reference(reference, *texts),
        reference=reference,
        kind=_kind(codes) if codes is not None else "",
        counterparty=_counterparty(entry, "Dbtr" if amount > 0 else "Cdtr"),
        text=" ".join(dict.fromkeys(texts)),
    )


def _kind(codes: Any) -> str:
    named = [
        _text(codes, "Domn", "Cd"),
        _text(codes, "Domn", "Fmly", "Cd"),
        _text(codes, "Domn", "Fmly", "SubFmlyCd"),
    ]
    return "-".join(filter(None, named)) or _text(codes, "Prtry", "Cd")


def _counterparty(entry: Any, role: str) -> str:
    for each in entry.iter():
        if _tag(each) == role:
            return _text(each, "Nm") or _text(each, "Pty", "Nm")
    return ""


def _amount(element: Any, place: str, account: BankAccount) -> int:
    if _currency(element) != account.currency:
        raise InvalidFile(
            f"{place}: its currency is {_currency(element) or 'missing'}, not {account.currency}."
        )
    try:
        amount = minor_units(Decimal(_text(element, "Amt")), account.currency)
    except (InvalidAmount, InvalidOperation) as wrong:
        reason = str(wrong) if isinstance(wrong, InvalidAmount) else "its amount is not a number"
        raise InvalidFile(f"{place}: {reason}.") from None
    return -amount if _text(element, "CdtDbtInd") == "DBIT" else amount


def _currency(element: Any) -> str:
    amount = _child(element, "Amt")
    return "" if amount is None else amount.get("Ccy", "")


def _day(element: Any, *names: str, place: str) -> date:
    """Return the day of the first element that exists; it holds `Dt` or `DtTm`, or is the time itself."""
    for name in names:
        text = _text(element, name, "Dt") or _text(element, name, "DtTm") or _text(element, name)
        if text:
            try:
                return date.fromisoformat(text[:10])
            except ValueError:
                break
    raise InvalidFile(f"{place}: its day is missing or invalid.")


def _text(element: Any, *path: str) -> str:
    for name in path:
        element = _child(element, name)
        if element is None:
            return ""
    return (element.text or "").strip()


def _child(element: Any, name: str) -> Any:
    return next(_children(element, name), None)


def _children(element: Any, name: str) -> Iterator[Any]:
    return (each for each in element if _tag(each) == name)


def _tag(element: Any) -> str:
    """Return the name without its namespace, which differs between versions."""
    return str(element.tag).rpartition("}")[2]
