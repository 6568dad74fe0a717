"""Values of audit entries as text for people."""

from collections.abc import Mapping
from typing import Any

from kit.money.money import money

AMOUNTS = ("amount", "reserve_fixed", "negative_limit")  # in minor units of the currency beside them


def with_money(values: Mapping[str, Any]) -> dict[str, Any]:
    """Format amounts that have a currency beside them.

    >>> with_money({"amount": 500, "currency": "NGN", "reason": "Float"})
    {'amount': 'NGN 5.00', 'reason': 'Float'}
    """
    currency = values.get("currency")
    amounts = {name: values[name] for name in AMOUNTS if isinstance(values.get(name), int)}
    if not amounts or not isinstance(currency, str):
        return dict(values)
    rest = {name: value for name, value in values.items() if name not in {*amounts, "currency"}}
    return {name: money(amount, currency) for name, amount in amounts.items()} | rest


def shown(value: Any) -> str:
    """Return a value as text; empty for None. Minor units by currency are amounts.

    >>> shown({"NGN": 50_000, "USD": 100}), shown({"per_day": {"NGN": 50_000}, "number_per_day": 7})
    ('NGN 500.00, USD 1.00', 'per day NGN 500.00, number per day 7')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(shown(each) for each in value)
    if isinstance(value, dict) and all(map(_is_amount, value, value.values())):
        return ", ".join(money(amount, currency) for currency, amount in value.items())
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {shown(each)}" for name, each in value.items())
    return str(value)


def _is_amount(name: str, value: Any) -> bool:
    return len(name) == len("NGN") and name.isupper() and type(value) is int
