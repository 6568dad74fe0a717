r"""Amounts as people enter them, in minor units.

>>> minor_units("2,500.50", "NGN"), minor_units("1500", "JPY"), minor_units("1.5", "KWD")
(250050, 1500, 1500)
>>> minor_units("NGN 4,912.00", "NGN"), minor_units("0", "NGN", allow_zero=True)
(491200, 0)
>>> minor_units("\u202a\u20a62,500\u202c", "NGN"), minor_units("2,500\u00a0NGN", "NGN"), minor_units("$5", "USD")
(250000, 250000, 500)
>>> minor_units("0.001", "NGN")
Traceback (most recent call last):
kit.money.amount_input.InvalidAmount: Enter at most 2 decimals for NGN.
"""

import re
from collections.abc import Mapping, Sequence

from kit.api.fields.strict_fields import MAX_AMOUNT
from kit.money.money import decimals_of, money, written
from kit.text.display_names import pasted

SYMBOLS = {"\u20a6": "NGN", "$": "USD", "\u20ac": "EUR", "\u00a3": "GBP", "\u20b5": "GHS"}
CURRENCY = rf"[A-Za-z]{{3}}|[{''.join(SYMBOLS)}]"
SHAPE = re.compile(
    rf"(?:({CURRENCY}) ?)?([0-9]{{1,13}}|[0-9]{{1,3}}(?:,[0-9]{{3}}){{1,4}})(?:\.([0-9]{{0,4}}))?(?: ?({CURRENCY}))?\Z"
)


class InvalidAmount(ValueError):
    """The text isn't a valid amount in the currency. The message is for the user."""


def named_currencies(text: str) -> set[str]:
    """Return the currencies that a text names, by code or symbol.

    >>> named_currencies("ngn 5.00"), named_currencies("5.00 $"), named_currencies("5.00")
    ({'NGN'}, {'USD'}, set())
    """
    return {SYMBOLS.get(name, name.upper()) for name in re.findall(CURRENCY, text)}


def amounts_by_currency(entered: str, currencies: Sequence[str]) -> dict[str, int]:
    """Read one amount for each currency, in minor units. An amount without a currency is in the first one.

    >>> amounts_by_currency("2,500; usd 1.00", ["NGN", "USD"])
    {'NGN': 250000, 'USD': 100}

    :raises InvalidAmount: an amount is invalid, or its currency comes twice or isn't among these
    """
    amounts: dict[str, int] = {}
    for text in filter(None, map(str.strip, entered.split(";"))):
        currency = min(named_currencies(text), default=currencies[0])
        if currency not in currencies:
            raise InvalidAmount(f"The business is not enabled for {currency}.")
        if currency in amounts:
            raise InvalidAmount(f"Enter one amount for {currency}.")
        amounts[currency] = minor_units(text, currency)
    return amounts


def amounts_in_words(amounts: Mapping[str, int]) -> str:
    """Return amounts by currency as `amounts_by_currency` reads them.

    >>> amounts_in_words({"USD": 100, "NGN": 250_000})
    'NGN 2,500.00; USD 1.00'
    """
    return "; ".join(money(amount, currency) for currency, amount in sorted(amounts.items()))


def minor_units(text: str, currency: str, *, allow_zero: bool = False) -> int:
    """Read an amount in minor units. The text may name the currency before or after the number.

    :raises InvalidAmount: the text isn't an amount, or the amount isn't positive or is too large
    """
    match, decimals = SHAPE.match(pasted(text).strip()), decimals_of(currency)
    if match is None:
        raise InvalidAmount(f"Enter an amount such as {written(2_500 * 10**decimals, currency)}.")
    if named_currencies(text) - {currency}:
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
