"""Amounts as people enter them, in minor units.

>>> minor_units("2,500.50", "NGN"), minor_units("1500", "JPY"), minor_units("1.5", "KWD")
(250050, 1500, 1500)
>>> minor_units("NGN 4,912.00", "NGN"), minor_units("0", "NGN", allow_zero=True)
(491200, 0)
>>> minor_units("0.001", "NGN")
Traceback (most recent call last):
kit.amount_input.InvalidAmount: Enter at most 2 decimals for NGN.
"""

import re

from kit.api.strict_fields import MAX_AMOUNT
from kit.money import decimals_of, money, written

SHAPE = re.compile(r"(?:([A-Za-z]{3}) ?)?([0-9]{1,13}|[0-9]{1,3}(?:,[0-9]{3}){1,4})(?:\.([0-9]{0,4}))?\Z")


class InvalidAmount(ValueError):
    """The text isn't a valid amount in the currency. The message is for the user."""


def minor_units(text: str, currency: str, *, allow_zero: bool = False) -> int:
    """Read an amount in minor units. The text may start with the currency.

    :raises InvalidAmount: the text isn't an amount, or the amount isn't positive or is too large
    """
    match, decimals = SHAPE.match(text.strip()), decimals_of(currency)
    if match is None:
        raise InvalidAmount(f"Enter an amount such as {written(2_500 * 10**decimals, currency)}.")
    if match[1] and match[1].upper() != currency:
        raise InvalidAmount(f"Enter an amount in {currency}.")
    whole, fraction = match[2].replace(",", ""), match[3] or ""
    if len(fraction) > decimals:
        raise InvalidAmount(
            f"Enter at most {decimals} decimals for {currency}."
            if decimals
            else f"Enter an amount in {currency} without decimals."
        )
    amount = int(whole + fraction.ljust(decimals, "0"))
    if not (0 < amount <= MAX_AMOUNT or (allow_zero and amount == 0)):
        raise InvalidAmount(f"Enter an amount above 0 and up to {money(MAX_AMOUNT, currency)}.")
    return amount
