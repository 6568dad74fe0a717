"""Values of audit entries as text for people."""

from collections.abc import Mapping
from typing import Any

from kit.money.money import money


def with_money(values: Mapping[str, Any]) -> dict[str, Any]:
    """Format an amount that has a currency beside it.

    >>> with_money({"amount": 500, "currency": "NGN", "reason": "Float"})
    {'amount': 'NGN 5.00', 'reason': 'Float'}
    """
    amount, currency = values.get("amount"), values.get("currency")
    if not isinstance(amount, int) or not isinstance(currency, str):
        return dict(values)
    rest = {name: value for name, value in values.items() if name not in {"amount", "currency"}}
    return {"amount": money(amount, currency), **rest}


def shown(value: Any) -> str:
    """Return a value as text; empty for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(shown(each) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {shown(each)}" for name, each in value.items())
    return str(value)
