"""Statements as MT940 of SWIFT, read by the library mt-940."""

import io
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Any, BinaryIO

import mt940

from cash.models import BankAccount
from cash.statement_files.parsed import (
    InvalidAmount,
    InvalidFile,
    Parsed,
    ParsedLine,
    minor_units,
    own_reference,
)

# The last ones are of texts that the bank structures by subfields, such as `?20EREF+`.
TEXTS = (
    "customer_reference", "transaction_details", "extra_details", "end_to_end_reference", "purpose", "additional_purpose",
    "applicant_iban", "posting_text",
)  # fmt: skip
OPTIONS = (
    mt940.Options.all()
)  # such as the sign of a credit that was taken back, `RC`, and texts of any length
_MESSAGE = re.compile(rb"^(?:\xef\xbb\xbf)?:20:", re.MULTILINE)  # a byte order mark may be in front


def read(file: BinaryIO, account: BankAccount) -> list[Parsed]:
    """Return the statements of a file. Pages of one statement, which end with `:62M:`, are joined.

    :raises InvalidFile: it can't be read
    """
    statements: list[Parsed] = []
    page: Parsed | None = None
    for number, message in enumerate(_messages(file.read()), 1):
        parsed, is_final = _read(message, number, account)
        page = _joined(page, parsed) if page else parsed
        if is_final:
            statements.append(page)
            page = None
    if page:
        raise InvalidFile(f"{page.place}: its last page is missing.")
    if not statements:
        raise InvalidFile("The file has no statement: no line begins with :20:.")
    return statements


def _messages(content: bytes) -> Iterator[bytes]:
    starts = [found.start() for found in _MESSAGE.finditer(content)]
    for start, end in pairwise([*starts, len(content)]):
        yield content[start:end]


def _read(message: bytes, number: int, account: BankAccount) -> tuple[Parsed, bool]:
    place = f"statement {number}"
    try:
        # A handle, because the library takes text that names a file for a path.
        found = mt940.parse(io.BytesIO(message), options=OPTIONS)
    except Exception as error:  # noqa: BLE001 (the library raises many kinds)
        raise InvalidFile(f"{place}: this is not MT940 ({type(error).__name__}).") from None
    opening = found.data.get("final_opening_balance") or found.data.get("intermediate_opening_balance")
    final = found.data.get("final_closing_balance")
    closing = final or found.data.get("intermediate_closing_balance")
    if opening is None or closing is None:
        raise InvalidFile(f"{place}: its opening or closing balance is missing.")
    lines = [_line(each, f"{place}, line {line}", account) for line, each in enumerate(_booked(found), 1)]
    parsed = Parsed(
        place=place,
        account=str(found.data.get("account_identification") or ""),
        currency=str(opening.amount.currency or ""),
        first_day=min([closing.date, *(line.booked_on for line in lines)]),
        last_day=max([closing.date, *(line.booked_on for line in lines)]),
        opening=_minor_units(opening.amount.amount, place, account),
        closing=_minor_units(closing.amount.amount, place, account),
        lines=lines,
    )
    return parsed, final is not None


def _booked(found: Any) -> list[Any]:
    """Return the lines. The library adds one for texts (`:86:`) of a statement without lines."""
    return [each for each in found.transactions if each.data.get("amount") is not None]


def _line(each: Any, place: str, account: BankAccount) -> ParsedLine:
    data = each.data
    texts = [str(data.get(name) or "") for name in TEXTS]
    reference = str(data.get("bank_reference") or "")
    day = data.get("entry_date") or data["date"]
    return ParsedLine(
        place=place,
        booked_on=day,
        amount=_minor_units(data["amount"].amount, place, account),
        # A reference of 32 digits is wrapped at 65 characters of a line.
        order=own_reference(reference, *texts, *(text.replace("\n", "") for text in texts)),
        reference=reference,
        kind=str(data.get("id") or ""),
        counterparty=str(data.get("applicant_name") or ""),
        text=" ".join(filter(None, texts)).replace("\n", " "),
    )


def _minor_units(major: Decimal, place: str, account: BankAccount) -> int:
    try:
        return minor_units(major, account.currency)
    except InvalidAmount as wrong:
        raise InvalidFile(f"{place}: {wrong}.") from None


def _joined(page: Parsed, following: Parsed) -> Parsed:
    if following.opening != page.closing:
        raise InvalidFile(
            f"{following.place}: its opening balance is not the closing balance of the page before."
        )
    return Parsed(
        place=page.place,
        account=page.account,
        currency=page.currency,
        first_day=min(page.first_day, following.first_day),
        last_day=max(page.last_day, following.last_day),
        opening=page.opening,
        closing=following.closing,
        lines=[*page.lines, *following.lines],
    )
