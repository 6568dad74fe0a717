"""Card brands, expiry dates, and a wrapper that keeps card numbers out of logs, errors and pickles.

>>> brand_of("5060990000000000"), brand_of("6500020000000000"), brand_of("4084080000005408")
('VERVE', 'VERVE', 'VISA')
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NoReturn

# Prefix ranges of equal length. The first match wins, so Verve precedes Discover and Maestro, whose ranges
# include it (facts: card brands).
BRANDS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("VERVE", (("506099", "506198"), ("507865", "507964"), ("650002", "650027"))),
    ("VISA", (("4", "4"),)),
    ("MASTERCARD", (("51", "55"), ("222100", "272099"))),
    ("AMEX", (("34", "34"), ("37", "37"))),
    ("DISCOVER", (("6011", "6011"), ("644", "649"), ("65", "65"))),
    ("DINERS", (("300", "305"), ("36", "36"), ("38", "39"))),
    ("JCB", (("2131", "2131"), ("1800", "1800"), ("3528", "3589"))),
    ("UNIONPAY", (("62", "62"), ("81", "81"))),
    ("MAESTRO", (("50", "50"), ("56", "59"), ("63", "63"), ("67", "67"))),
)
UNKNOWN_BRAND = "UNKNOWN"
BRAND_NAMES = (*(name for name, _ in BRANDS), UNKNOWN_BRAND)


# How pages write a brand, if not with a capital letter.
_WRITTEN = {"AMEX": "American Express", "DINERS": "Diners Club", "JCB": "JCB", "UNIONPAY": "UnionPay"}


def brand_name(brand: str) -> str:
    """Return how pages write a brand.

    >>> brand_name("VISA"), brand_name("AMEX"), brand_name(UNKNOWN_BRAND)
    ('Visa', 'American Express', 'Card')
    """
    return "Card" if brand == UNKNOWN_BRAND else _WRITTEN.get(brand, brand.capitalize())


def brand_of(number: str) -> str:
    """Return the brand of a card number, or UNKNOWN."""
    for brand, ranges in BRANDS:
        if any(first <= number[: len(first)] <= last for first, last in ranges):
            return brand
    return UNKNOWN_BRAND


class CardSecret:
    """A card number and its CVV, held only for the call to the acquirer.

    Its repr hides both, and it can't be copied or pickled.
    """

    __slots__ = ("_cvv", "_number")

    def __init__(self, *, number: str, cvv: str) -> None:
        self._number = number
        self._cvv = cvv

    def reveal_number(self) -> str:
        return self._number

    def reveal_cvv(self) -> str:
        return self._cvv

    def __repr__(self) -> str:
        return "<CardSecret>"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        raise TypeError("A card number is never written down.")

    def __getstate__(self) -> NoReturn:
        raise TypeError("A card number is never written down.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A card as entered by the payer. Everything may be stored except the secret."""

    secret: CardSecret = field(repr=False)
    brand: str
    bin: str  # the first six digits
    last4: str
    name: str
    expiry_month: str  # two digits
    expiry_year: str  # four digits
    billing_address: dict[str, str] = field(default_factory=dict, repr=False)


def has_expired(*, month: str, year: str, now: datetime) -> bool:
    """Return whether a card's expiry month has ended in every time zone.

    >>> from datetime import UTC
    >>> has_expired(month="11", year="2026", now=datetime(2026, 11, 30, 23, tzinfo=UTC))
    False
    >>> has_expired(month="11", year="2026", now=datetime(2026, 12, 2, tzinfo=UTC))
    True
    """
    following = (int(year) + 1, 1) if month == "12" else (int(year), int(month) + 1)
    # In the westernmost time zone, the month ends twelve hours after UTC.
    return (now.year, now.month, now.day, now.hour) >= (*following, 1, 12)
