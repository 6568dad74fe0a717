"""Warnings of the sandbox about amounts that are valid, but probably a mistake.

Only the sandbox warns, and only in answers to requests that create something: a production system must not depend on
it.

>>> [warning] = list(_warnings_of("amount", Decimal("2500.0"), "NGN"))
>>> warning["message"]
'amount was written with a fraction or exponent, and read as 2500 minor units: NGN 25.00. For NGN 2,500.00, send 250000.'
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from django.conf import settings

from kit.api.fields.answer_fields import TEXT, Answer, Field, ListOf, open_list
from kit.money.money import decimals_of, money

BELOW_ONE_UNIT, WRITTEN_AS_DECIMAL = "amount_below_one_unit", "amount_written_as_decimal"
WARNING = Answer(
    "Warning",
    "Something that is valid, but probably a mistake.",
    Field("code", open_list([BELOW_ONE_UNIT, WRITTEN_AS_DECIMAL]), "What looks like a mistake.", BELOW_ONE_UNIT),
    Field("message", TEXT, "What was read, and what to send if something else was meant.", "amount is 25 minor units: NGN 0.25. For NGN 25.00, send 2500."),
)  # fmt: skip
# `with_warnings` adds them to an answer. Events and lookups never have any.
WARNINGS_FIELD = Field(
    "warnings",
    ListOf(WARNING),
    "Sandbox only, in the answer to the POST that creates it: what is valid, but probably a mistake.",
    value=lambda _: (),
    omit=((),),
)


def with_warnings(shown: dict[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer with the warnings about the amounts in the body of its valid request."""
    if not settings.SANDBOX:
        return shown
    found = [
        warning
        for name, amount in _amounts(body)
        for warning in _warnings_of(name, amount, shown["currency"])
    ]
    return shown | {WARNINGS_FIELD.name: found} if found else shown


def _amounts(body: Mapping[str, Any]) -> Iterator[tuple[str, int | Decimal]]:
    """Yield each amount of a valid request with its dotted path."""
    if "amount" in body:
        yield "amount", body["amount"]
    for name, given in body.get("amount_range", {}).items():
        for amount in given if isinstance(given, list) else [given]:
            yield f"amount_range.{name}", amount


def _warnings_of(name: str, amount: int | Decimal, currency: str) -> Iterator[dict[str, str]]:
    unit = 10 ** decimals_of(currency)
    read = f"{int(amount)} minor units: {money(int(amount), currency)}. "
    instead = f"For {money(int(amount) * unit, currency)}, send {int(amount) * unit}."
    if amount < unit:
        yield {"code": BELOW_ONE_UNIT, "message": f"{name} is {read}{instead}"}
    if isinstance(amount, Decimal):
        found = f"{name} was written with a fraction or exponent, and read as {read}"
        yield {
            "code": WRITTEN_AS_DECIMAL,
            "message": found + (instead if unit > 1 else "Send a whole number."),
        }
