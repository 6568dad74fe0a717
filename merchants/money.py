"""Amounts as people write them."""

from iso4217 import Currency

MINUS = "\u2212"
USUAL_DECIMALS = 2  # decimals where ISO 4217 names none


def money(minor_units: int, currency: str) -> str:
    """Show minor units with their currency, in as many decimals as it has.

    >>> money(123_456, "NGN"), money(5, "USD"), money(1_500, "JPY"), money(1_500, "KWD")
    ('NGN 1,234.56', 'USD 0.05', 'JPY 1,500', 'KWD 1.500')
    >>> money(-5, "NGN") == MINUS + "NGN 0.05"
    True
    """
    decimals = _decimals(currency)
    sign = MINUS if minor_units < 0 else ""
    major, minor = divmod(abs(minor_units), 10**decimals)
    return f"{sign}{currency} {major:,}.{minor:0{decimals}}" if decimals else f"{sign}{currency} {major:,}"


def _decimals(currency: str) -> int:
    exponent = Currency(currency).exponent
    return USUAL_DECIMALS if exponent is None else int(exponent)
