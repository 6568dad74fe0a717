"""Errors of the API's validation of payment links, at the form's fields and in the words of the form.

The rules are the API's. Its messages name fields and minor units, so the most common ones are said in other words here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dashboard.payment_links.forms.forms import LinkForm
from kit.api.fields.strict_fields import MAX_AMOUNT
from kit.money.money import money
from payments.links.link_rules import smallest_amount

Path = tuple[str, ...]

# Fields of the form for the parts of the API's objects and lists.
PARTS: dict[Path, str] = {
    ("amount_range", "min"): "amount_min",
    ("amount_range", "max"): "amount_max",
    ("amount_range", "suggested"): "suggested",
    ("customer", "reference"): "customer_reference",
    ("customer", "email"): "customer_email",
    ("customer", "name"): "customer_name",
    ("collect", "name"): "collect_name",
    ("collect", "email"): "collect_email",
    ("collect", "phone"): "collect_phone",
}

TEXTS = {
    ("amount", "too_small"): "Enter {smallest} or more.",
    ("amount", "too_large"): "Enter {largest} or less.",
    ("amount_min", "too_small"): "Enter {smallest} or more.",
    ("amount_min", "too_large"): "Enter {largest} or less.",
    ("amount_max", "too_small"): "Enter the smallest amount or more.",
    ("amount_max", "too_large"): "Enter {largest} or less.",
    ("suggested", "invalid"): "Enter amounts from the smallest to the largest one.",
    ("suggested", "invalid_length"): "Enter up to 4 amounts.",
    ("suggested", "duplicate"): "Enter each amount once.",
    ("quantity_max", "too_small"): "Enter a number from 1 to 100.",
    ("quantity_max", "too_large"): "Enter a number up to 100. All together may cost {largest} or less.",
    ("max_uses", "too_small"): "Enter a number from 1 to 1,000,000.",
    ("max_uses", "too_large"): "Enter a number from 1 to 1,000,000.",
    ("expires_at", "out_of_range"): "Enter a time from 5 minutes to 5 years ahead.",
    ("transfer_window", "too_large"): "Choose 1 hour or less, or leave the maximum uses empty.",
    ("transfer_window", "not_supported"): "The bank of your accounts needs another time. Choose 30 minutes.",
    ("slug", "invalid"): "Use 4 to 40 lowercase letters, digits and single hyphens, with none first or last.",
    ("slug", "invalid_length"): "Use 4 to 40 lowercase letters, digits and single hyphens.",
    ("slug", "not_allowed_here"): "Leave this empty. A link for one payment has a random address.",
    ("customer_reference", "required"): "Enter your reference of the customer.",
    ("customer_email", "required"): "Enter the email address of the customer.",
    ("customer_email", "invalid"): "Enter an email address, such as ada@example.com.",
    ("key", "duplicate"): "Two questions have the same name in the API. Choose another one.",
    ("key", "invalid"): "Use up to 40 lowercase letters, digits and underscores.",
    ("label", "invalid_length"): "Enter the question, in up to 50 characters.",
}
# Errors of fixed fields when a link is changed: the maximum uses don't suit them.
TEXTS_OF_FIXED = {
    "slug": "A link with a chosen address can’t be for one payment. Enter 2 or more.",  # noqa: RUF001
    "customer": "A link with a known customer is for one payment. Enter 1.",
}


def add_link_errors(form: LinkForm, detail: Any, *, currency: str) -> None:
    """Add the API's errors to the fields of the form that they are about."""
    for path, reason in _reasons(detail, ()):
        name = _field_of(form, path)
        if name in TEXTS_OF_FIXED and name not in form.fields:
            form.add_error("max_uses", TEXTS_OF_FIXED[name])
        else:
            form.add_error(name if name in form.fields else None, _text(name, reason, currency=currency))


def _reasons(detail: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield each error of a nested detail with its path."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            yield from _reasons(inner, (*path, str(name)))
    elif isinstance(detail, list):
        for each in detail:
            yield from _reasons(each, path)
    else:
        yield path, detail


def _field_of(form: LinkForm, path: Path) -> str:
    if path[:1] == ("custom_fields",):
        return _question_field(form, path[1:])
    return PARTS.get(path[:2], path[0] if path else "")


def _question_field(form: LinkForm, path: Path) -> str:
    """Return the field of an error of a question, or of all of them."""
    asked = form.asked_questions
    if not path:  # duplicate keys
        return f"key_{asked[-1]}"
    part = path[1] if len(path) > 1 else "label"
    return f"{part}_{asked[int(path[0])]}"


def _text(name: str, reason: Any, *, currency: str) -> str:
    kind = name.rstrip("0123456789").rstrip("_") if name.startswith(("key_", "label_")) else name
    text = TEXTS.get((kind, getattr(reason, "code", "")))
    if text is None:
        return str(reason)
    return text.format(
        smallest=money(smallest_amount(currency), currency), largest=money(MAX_AMOUNT, currency)
    )
