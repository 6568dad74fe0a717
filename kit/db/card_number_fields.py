"""Policy for stored card numbers, shared by the API, the dashboard, the admin and commands.

| Card number in | Result |
|---|---|
| `source.pan` of a request | the number is sent to the acquirer, never stored |
| another field of that request (the same number) | refused: `card_number_misplaced` |
| free text: names, addresses, narrations, reasons, notes | masked by its column (`FreeTextField`, `FreeTextJSONField`) |
| the response to a webhook | masked by its column (`FreeBytesField`) |
| the target of a request in the request log | masked by its column, percent-encoded too (`TargetField`) |
| a webhook URL, the e-mail address of a user, an invitation or a password reset | refused (`CheckedURLField`, `CheckedEmailField`) |
| the name of a listener | refused by its serializer, because it is part of an address |
| columns of libraries: the names of browsers, passkeys and groups of staff | masked before they are saved (`dashboard.account.library_columns`) |
| identifiers, metadata, a payer's e-mail address, `redirect_url` | stored as sent |

Masking and refusing are done by the columns, so that no form, view or command can omit them. Decision 0018.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.query_utils import DeferredAttribute

from kit.text.masking import SEPARATOR, mask_card_numbers, mask_target

MISPLACED: Final = "card_number_misplaced"  # code of the error
REFUSAL = "This field may not hold a card number."

# Names of fields that are stored as sent. Values below these names aren't masked.
KEPT_AS_SENT = frozenset({"reference", "email", "metadata", "redirect_url"})

_SEPARATORS = re.compile(r"[\W_]+")
_LONGEST = 80  # characters: 19 digits, each followed by three signs
_DIGITS_AT_END = re.compile(rf"\d(?:{SEPARATOR}{{0,3}}\d)*{SEPARATOR}{{0,3}}\Z")


def holds_number(text: str, number: str) -> bool:
    """Return whether a text holds a given card number, with any separators between its digits.

    >>> number = "4084084084084081"
    >>> holds_number("pan: 4084-0840 8408.4081", number), holds_number("https://shop.example/?c=4084%200840_84084081", number)
    (True, True)
    >>> holds_number("4084084084084082", number)
    False
    """
    plain = unquote(text)
    if plain.isascii():  # the fast path: most texts of a request are too short
        return len(plain) >= len(number) and number in _SEPARATORS.sub("", plain)
    digits = _SEPARATORS.sub("", unicodedata.normalize("NFKC", plain))
    return number in "".join(str(unicodedata.digit(each, each)) for each in digits)


def misplaced(values: Any, number: str, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of each string that holds a given card number, keys included."""
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


def masked_bytes(value: bytes) -> bytes:
    r"""Return bytes with the card numbers in them masked; those that aren't UTF-8 stay as they are.

    >>> masked_bytes(b"no card 4084 0840 8408 4081 \xff")
    b'no card 408408******4081 \xff'
    """
    return mask_card_numbers(value.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def masked_start(value: bytes) -> bytes:
    """Return the first bytes of a longer text, masked. It may end within a card number, so digits at its end are dropped.

    >>> masked_start(b"404: no card 4084 0840 84")
    b'404: no card '
    """
    text = value.decode(errors="surrogateescape")
    start, end = text[:-_LONGEST], text[-_LONGEST:]
    return masked_bytes((start + _DIGITS_AT_END.sub("", end)).encode(errors="surrogateescape"))


class _MaskedAttribute(DeferredAttribute):
    """A model attribute that masks its value on assignment."""

    def __set__(self, instance: models.Model, value: Any) -> None:
        instance.__dict__[self.field.attname] = self.field.masked(value)  # type: ignore[attr-defined]


class _WrittenAsDjangoField(models.Field):
    """A field that migrations record as the Django field with the same column, so they don't import this module."""

    django_field: str

    def deconstruct(self) -> Any:
        name, _path, args, kwargs = super().deconstruct()
        return name, f"django.db.models.{self.django_field}", args, kwargs


class FreeTextField(_WrittenAsDjangoField, models.CharField):
    """Text written by people. Card numbers in it are masked on assignment and in every statement."""

    django_field = "CharField"
    descriptor_class = _MaskedAttribute
    masked = staticmethod(masked)

    def get_prep_value(self, value: Any) -> Any:
        return self.masked(super().get_prep_value(value))


class TargetField(FreeTextField):
    """Path and query of a request, masked in their percent-encoded forms too."""

    @staticmethod
    def masked(value: Any) -> Any:
        return mask_target(value) if isinstance(value, str) else value


class FreeBytesField(_WrittenAsDjangoField, models.BinaryField):
    """Bytes that another server sent, masked like `FreeTextField`."""

    django_field = "BinaryField"
    descriptor_class = _MaskedAttribute

    @staticmethod
    def masked(value: Any) -> Any:
        return masked_bytes(bytes(value)) if isinstance(value, bytes | bytearray | memoryview) else value

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:  # noqa: FBT001, FBT002
        return super().get_db_prep_value(self.masked(value), connection, prepared)


class FreeTextJSONField(_WrittenAsDjangoField, models.JSONField):
    """A document with text written by people, masked like `FreeTextField`."""

    django_field = "JSONField"
    descriptor_class = _MaskedAttribute
    masked = staticmethod(masked)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:  # noqa: FBT001, FBT002
        return super().get_db_prep_value(masked(value), connection, prepared)


class _CheckedField(_WrittenAsDjangoField, models.CharField):
    """An address that must be stored unchanged, so it can't be masked. One with a card number is refused."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:  # noqa: FBT001
        value = super().pre_save(model_instance, add)
        if add:  # forms and services validate changes
            refuse_card_number(value)
        return value


class CheckedURLField(_CheckedField):
    """The address that webhooks are sent to."""

    django_field = "CharField"
    default_validators = [*models.CharField.default_validators, refuse_card_number]


class CheckedEmailField(_CheckedField, models.EmailField):
    """The e-mail address of a user."""

    django_field = "EmailField"
    default_validators = [*models.EmailField.default_validators, refuse_card_number]
