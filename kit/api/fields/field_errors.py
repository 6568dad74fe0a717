"""Errors of request fields. Unknown names get a suggestion, and all errors of a request are reported together."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any, Self, TypeAlias

from rest_framework.exceptions import ErrorDetail, ValidationError

from kit.api.fields.field_codes import FieldCode
from kit.text.masking import mask_card_numbers

Errors: TypeAlias = dict[str, Any]

NOT_ALLOWED_HERE = "This field does not belong to this kind of request."
UNKNOWN_FIELD = "There is no such field."

# Suggestions for unknown fields: the required similarity of two names, and how many names are compared.
SUGGESTION_CUTOFF = 0.75
MOST_SUGGESTIONS = 20
LONGEST_NAME = 100


def error(message: str, code: FieldCode) -> list[ErrorDetail]:
    return [ErrorDetail(message, code=code)]


class UnknownField(ErrorDetail):
    """An unknown field, with a similar known name if there is one."""

    suggestion: str

    def __new__(cls, *, suggestion: str = "") -> Self:
        question = f"; did you mean {suggestion}?" if suggestion else "."
        made = super().__new__(cls, UNKNOWN_FIELD.rstrip(".") + question, code="unknown_field")
        made.suggestion = suggestion
        return made


class InvalidFields(ValidationError):
    """All errors of a request, by field. Unlike its base class, it keeps the error objects unchanged."""

    def __init__(self, errors: Errors | list[Any]) -> None:
        super().__init__()
        self.detail = errors


def closest(name: str, known: Collection[str]) -> str:
    """Return the most similar known name, or an empty string if none is close.

    >>> closest("amuont", ["amount", "currency"]), closest("colour", ["amount", "currency"])
    ('amount', '')
    """
    if len(name) > LONGEST_NAME:  # the comparison takes quadratic time
        return ""
    return next(iter(get_close_matches(name, known, n=1, cutoff=SUGGESTION_CUTOFF)), "")


def unknown_fields(
    data: Mapping[str, Any],
    *,
    known: frozenset[str],
    elsewhere: frozenset[str] = frozenset(),
    beside: frozenset[str] = frozenset(),
) -> Errors:
    """Return an error for each unknown name; those in `elsewhere` belong to other kinds of request.

    `beside` are names that are read elsewhere, and may be suggested.
    """
    if known.issuperset(data):
        return {}
    errors: Errors = {}
    candidates = sorted((known | beside).difference(data))
    for name in data:
        if name in known:
            continue
        if name in elsewhere:
            found = error(NOT_ALLOWED_HERE, "not_allowed_here")
        else:
            is_compared = len(errors) < MOST_SUGGESTIONS
            found = [UnknownField(suggestion=closest(name, candidates) if is_compared else "")]
        errors[shown(name)] = found
    return errors


def shown(name: str) -> str:
    """Return a name that the caller chose as errors repeat it: not too long, and without a card number.

    >>> shown("4084084084084081")
    '408408******4081'
    """
    return mask_card_numbers(name)[:LONGEST_NAME]
