"""Amounts that people type, as minor units.

>>> minor_units("2,500.50", "NGN"), minor_units("1500", "JPY"), minor_units("1.5", "KWD")
(250050, 1500, 1500)
>>> minor_units("0.001", "NGN")
Traceback (most recent call last):
dashboard.ui.amounts.NoAmount: NGN has 2 decimals.
"""

import re

from kit.money import decimals_of, money, written

SHAPE = re.compile(r"([0-9]{1,13}|[0-9]{1,3}(?:,[0-9]{3}){1,4})(?:\.([0-9]{0,4}))?\Z")
LARGEST = 10**12  # minor units, as in the API


class NoAmount(ValueError):
    """The text is no amount in that currency. The message says why, to the person who typed it."""


def minor_units(text: str, currency: str) -> int:
    """Read an amount in minor units.

    :raises NoAmount: it is none, or not positive, or too large
    """
    match, decimals = SHAPE.match(text.strip()), decimals_of(currency)
    if match is None:
        raise NoAmount(f"Write an amount such as {written(2_500 * 10**decimals, currency)}.")
    whole, fraction = match[1].replace(",", ""), match[2] or ""
    if len(fraction) > decimals:
        raise NoAmount(f"{currency} has {decimals or 'no'} decimals.")
    amount = int(whole + fraction.ljust(decimals, "0"))
    if not 0 < amount <= LARGEST:
        raise NoAmount(f"The amount must be above 0 and at most {written(LARGEST, currency)}.")
    return amount


def with_sign(amount: int, currency: str) -> str:
    r"""Show what was added with a plus, what was taken with a minus; nothing without either.

    >>> with_sign(5, "NGN"), with_sign(-123_456, "NGN"), with_sign(0, "NGN")
    ('+NGN 0.05', '\u2212NGN 1,234.56', 'NGN 0.00')
    """
    return f"{'+' if amount > 0 else ''}{money(amount, currency)}"
