"""Where card numbers may be stored: one policy for the API, the dashboard, the administration and commands.

| What holds a card number | What happens |
|---|---|
| `source.pan` of a request | the number is sent to the acquirer, never stored |
| another field of the same request, its own number | refused: `card_number_misplaced` |
| free text: names, addresses, narrations, reasons, notes | masked by its column (`FreeTextField`, `FreeTextJSONField`) |
| a webhook URL, the e-mail address of a user or an invitation | refused (`CheckedURLField`, `CheckedEmailField`) |
| identifiers, metadata, a payer's e-mail address, `redirect_url` | stored as sent |

Masking and refusing are done by the columns, so that no form, view or command can omit them. Decision 0068.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.query_utils import DeferredAttribute

from merchants.masking import mask_card_numbers

MISPLACED = "card_number_misplaced"  # code of the error
REFUSAL = "This field may not hold a card number."

# What is stored as it was sent, by name. Values below these names aren't masked.
KEPT_AS_SENT = frozenset({"reference", "email", "metadata", "redirect_url"})

_SEPARATORS = re.compile(r"[\W_]+")


def holds_number(text: str, number: str) -> bool:
    """Return whether a text holds a given card number, whatever separates its digits.

    >>> number = "4084084084084081"
    >>> holds_number("pan: 4084-0840 8408.4081", number), holds_number("https://shop.example/?c=4084%200840_84084081", number)
    (True, True)
    >>> holds_number("4084084084084082", number)
    False
    """
    digits = _SEPARATORS.sub("", unicodedata.normalize("NFKC", unquote(text)))
    return number in "".join(str(unicodedata.digit(each, each)) for each in digits)


def misplaced(values: Any, number: str, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of each string that holds a given card number, be it a key or a value."""
    if isinstance(values, str):
        if holds_number(values, number):
            yield path
    elif isinstance(values, Mapping):
        for name, value in values.items():
            if holds_number(name, number):
                yield path
            else:
                yield from misplaced(value, number, (*path, name))


def refuse_card_number(text: str) -> None:
    """Validate that an address holds no card number.

    :raises ValidationError: it holds one
    """
    for spelling in (text, unquote(text)):
        if mask_card_numbers(spelling) != spelling:
            raise ValidationError(REFUSAL, code=MISPLACED)


def masked(value: Any) -> Any:
    """Return a value of plain types with the card numbers in its texts masked.

    >>> masked({"reason": "card 4084084084084081", "reference": "4084084084084081"})
    {'reason': 'card 408408******4081', 'reference': '4084084084084081'}
    """
    if isinstance(value, str):
        return mask_card_numbers(value)
    if isinstance(value, Mapping):
        return {name: each if name in KEPT_AS_SENT else masked(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [masked(each) for each in value]
    return value


class _MaskedAttribute(DeferredAttribute):
    """The attribute of a model whose value is masked when it is assigned."""

    def __set__(self, instance: models.Model, value: Any) -> None:
        instance.__dict__[self.field.attname] = masked(value)


class FreeTextField(models.CharField):
    """Words that people write. Card numbers in them are masked on assignment and in every statement.

    To migrations it is a `CharField`: the column is the same.
    """

    descriptor_class = _MaskedAttribute

    def get_prep_value(self, value: Any) -> Any:
        return masked(super().get_prep_value(value))

    def deconstruct(self) -> Any:
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs


class FreeTextJSONField(models.JSONField):
    """A document with words that people write, masked like `FreeTextField`."""

    descriptor_class = _MaskedAttribute

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:  # noqa: FBT001, FBT002
        return super().get_db_prep_value(masked(value), connection, prepared)

    def deconstruct(self) -> Any:
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs


class _CheckedField(models.CharField):
    """An address that must work as it is typed, so it can't be masked. One with a card number isn't stored."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:  # noqa: FBT001
        value = super().pre_save(model_instance, add)
        if add:  # a change is validated by its form or service
            refuse_card_number(value)
        return value


class CheckedURLField(_CheckedField):
    """The address that webhooks are sent to."""

    default_validators = [*models.CharField.default_validators, refuse_card_number]

    def deconstruct(self) -> Any:
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs


class CheckedEmailField(_CheckedField, models.EmailField):
    """The e-mail address of a user."""

    default_validators = [*models.EmailField.default_validators, refuse_card_number]

    def deconstruct(self) -> Any:
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.EmailField", args, kwargs
