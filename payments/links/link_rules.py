"""Rules of a payment link's fields, shared by the API, the dashboard and the service."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings

from kit.api.fields.field_errors import Errors, error
from kit.api.fields.strict_fields import MAX_AMOUNT
from kit.money.money import money

EARLIEST_END, LATEST_END = timedelta(minutes=5), timedelta(days=5 * 365 + 2)
DEFAULT_WINDOW = 1_800  # seconds
LONGEST_WINDOW_OF_LIMITED = 3_600  # seconds
MOST_CUSTOM_FIELDS = 3
ASKED = ("required", "optional", "no")
DEFAULT_COLLECT = {"name": "required", "email": "required", "phone": "no"}


def conditions_on_amount(values: Mapping[str, Any], *, given: Collection[str]) -> Errors:
    """Return the errors of `amount`, `amount_range` and `quantity_max`, which depend on each other.

    `given` are the names of all fields of the request, `values` those that are valid.
    """
    if "amount" not in given and "amount_range" not in given:
        return {"amount": error("Either this field or `amount_range` is required.", "required")}
    errors: Errors = {}
    if "amount_range" in given:
        errors |= _forbidden(given, "amount", "quantity_max", beside="`amount_range`")
    amount, span, currency = values.get("amount"), values.get("amount_range"), values.get("currency")
    if currency is not None:
        smallest = smallest_amount(currency)
        if amount is not None and amount < smallest:
            errors.setdefault("amount", _below_minimum(smallest, currency))
        if span is not None and span["min"] < smallest:
            errors["amount_range"] = {"min": _below_minimum(smallest, currency)}
    if amount is not None and amount * values.get("quantity_max", 1) > MAX_AMOUNT:
        errors.setdefault(
            "quantity_max", error(f"`amount` times `quantity_max` may be at most {MAX_AMOUNT}.", "too_large")
        )
    return errors


def conditions_between_fields(values: Mapping[str, Any]) -> Errors:
    """Return the errors of a link's fields against each other, as they are or would be after a change."""
    errors: Errors = {}
    max_uses, window = values.get("max_uses"), values.get("transfer_window")
    if max_uses == 1:
        errors |= _forbidden(values, "slug", beside="`max_uses: 1`")
    elif "customer" in values:
        errors["customer"] = error("This field is allowed with `max_uses: 1` only.", "not_allowed_here")
    if max_uses is not None and window is not None and window > LONGEST_WINDOW_OF_LIMITED:
        message = f"This field must be at most {LONGEST_WINDOW_OF_LIMITED} with `max_uses`."
        errors["transfer_window"] = error(message, "too_large")
    return errors | unique_keys(values)


def unique_keys(values: Mapping[str, Any]) -> Errors:
    """Return an error if two custom fields have the same key."""
    keys = [field["key"] for field in values.get("custom_fields") or ()]
    if len(set(keys)) == len(keys):
        return {}
    return {"custom_fields": error("Each `key` may occur once only.", "duplicate")}


def smallest_amount(currency: str) -> int:
    """Return the smallest total of a link in minor units. Stolen cards are tested with small amounts."""
    minimums: dict[str, int] = settings.LINK_MINIMUM_AMOUNTS
    return minimums.get(currency, settings.LINK_MINIMUM_AMOUNT)


def _below_minimum(smallest: int, currency: str) -> list[Any]:
    return error(f"This field must be at least {smallest} ({money(smallest, currency)}).", "too_small")


def _forbidden(given: Collection[str], *names: str, beside: str) -> Errors:
    message = f"This field is not allowed with {beside}."
    return {name: error(message, "not_allowed_here") for name in names if name in given}
