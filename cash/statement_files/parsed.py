"""Statements as they are read, before they are checked and stored.

>>> amount_of("1,234.50", "NGN"), amount_of("1.234,50-", "NGN", decimal=","), amount_of("1 500", "JPY")
(123450, -123450, 1500)
>>> own_reference("SLUICE 0197F3A0B1C2D3E4F5A6B7C8D9E0F102/GTB")
UUID('0197f3a0-b1c2-d3e4-f5a6-b7c8d9e0f102')
"""

import re
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation, Overflow
from uuid import UUID

from kit.money.money import decimals_of

LARGEST = 2**63 - 1  # minor units of an amount or balance
_OURS = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}(?![0-9a-f])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[0-9]{1,30}(\.[0-9]{0,10})?", re.ASCII)
_EXACT = Context(prec=60, traps=[Inexact, InvalidOperation, Overflow])
_GROUPS = str.maketrans("", "", " \u00a0\u202f'")


class InvalidFile(ValueError):
    """A file is refused as a whole. The message names the line and the reason."""


class InvalidAmount(ValueError):
    """The text isn't an amount in the currency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedLine:
    """A line, with its place in the file. Amounts are minor units."""

    place: str
    booked_on: date
    amount: int
    order: UUID | None
    reference: str = ""
    kind: str = ""
    counterparty: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A statement of a file. Amounts are minor units."""

    place: str
    account: str  # as the file names it; empty if it doesn't
    currency: str  # empty if the file doesn't name it
    first_day: date
    last_day: date
    opening: int
    closing: int
    lines: list[ParsedLine]


def own_reference(*texts: str) -> UUID | None:
    """Return our reference, anywhere in the texts of a line."""
    found = _OURS.search(" ".join(texts))
    return UUID(found[0]) if found else None


def amount_of(text: str, currency: str, *, decimal: str = ".") -> int:
    """Return minor units. The sign is in front or behind; `decimal` separates the decimals, and other marks group digits.

    :raises InvalidAmount: it is no amount, has more decimals than the currency, or is too large
    """
    plain = text.strip().replace("\u2212", "-")
    is_negative = plain.startswith("-") or plain.endswith("-")
    grouping = "," if decimal == "." else "."
    digits = plain.strip("+-").translate(_GROUPS)
    whole, _, decimals = digits.partition(decimal)
    is_grouped = _is_grouped(whole.split(grouping)) and grouping not in decimals
    digits = digits.replace(grouping, "").replace(decimal, ".")
    if not is_grouped or not _NUMBER.fullmatch(digits):
        raise InvalidAmount(f"{text[:30]!r} is not an amount")
    amount = minor_units(Decimal(digits), currency)
    return -amount if is_negative else amount


def _is_grouped(groups: list[str]) -> bool:
    """Return whether digits are grouped as numbers are, the last three together. Else the mark is a decimal separator.

    >>> _is_grouped(["1234"]), _is_grouped(["1", "50", "000"]), _is_grouped(["1", "50"])
    (True, True, False)
    """
    first, *others = groups
    if not others:
        return True
    return 0 < len(first) <= 3 and len(others[-1]) == 3 and all(len(each) in (2, 3) for each in others)  # noqa: PLR2004


def minor_units(major: Decimal, currency: str) -> int:
    """Return an exact amount in minor units.

    :raises InvalidAmount: it has more decimals than the currency, or is too large
    """
    try:
        minor = major.scaleb(decimals_of(currency), context=_EXACT)
    except DecimalException:
        raise InvalidAmount("the amount has too many digits") from None
    if minor != minor.to_integral_value():
        raise InvalidAmount(f"{currency} has {decimals_of(currency)} decimals")
    if abs(minor) > LARGEST:
        raise InvalidAmount("the amount is too large")
    return int(minor)
