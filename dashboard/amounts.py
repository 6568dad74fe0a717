"""Amounts as people write them, and as they are kept: whole minor units.

>>> minor_units("2,500.50", "NGN"), minor_units("1500", "JPY"), written(250_050, "NGN"), written(-5, "NGN")
(250050, 1500, '2500.50', '-0.05')
>>> minor_units("0.001", "NGN")
Traceback (most recent call last):
dashboard.amounts.NoAmount: NGN has 2 decimals.
"""

import re

from iso4217 import Currency

from merchants.money import money

SHAPE = re.compile(r"([0-9]{1,13}|[0-9]{1,3}(?:,[0-9]{3}){1,4})(?:\.([0-9]{0,4}))?\Z")
LARGEST = 10**12  # minor units, as in the API


class NoAmount(ValueError):
    """The text is no amount in that currency. The message says why, to the person who typed it."""


def minor_units(text: str, currency: str) -> int:
    """Read an amount in minor units.

    :raises NoAmount: it is none, or not positive, or too large
    """
    match = SHAPE.match(text.strip())
    if match is None:
        raise NoAmount("Write an amount such as 2500.00.")
    decimals = decimals_of(currency)
    whole, fraction = match[1].replace(",", ""), match[2] or ""
    if len(fraction) > decimals:
        raise NoAmount(f"{currency} has {decimals} decimals.")
    amount = int(whole + fraction.ljust(decimals, "0"))
    if not 0 < amount <= LARGEST:
        raise NoAmount(f"The amount must be above 0 and at most {written(LARGEST, currency)}.")
    return amount


def written(amount: int, currency: str) -> str:
    """Return an amount as one would type it: without currency and without separators."""
    decimals = decimals_of(currency)
    sign = "-" if amount < 0 else ""
    major, minor = divmod(abs(amount), 10**decimals)
    return f"{sign}{major}.{minor:0{decimals}}" if decimals else f"{sign}{major}"


def decimals_of(currency: str) -> int:
    exponent = Currency(currency).exponent
    return 2 if exponent is None else int(exponent)


def with_sign(amount: int, currency: str) -> str:
    r"""Show what was added with a plus, what was taken with a minus; nothing without either.

    >>> with_sign(5, "NGN"), with_sign(-123_456, "NGN"), with_sign(0, "NGN")
    ('+NGN 0.05', '\u2212NGN 1,234.56', 'NGN 0.00')
    """
    return f"{'+' if amount > 0 else ''}{money(amount, currency)}"
