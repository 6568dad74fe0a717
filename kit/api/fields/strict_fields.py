"""Serializer fields that accept exactly one JSON type and never repeat a value in an error.

DRF's own fields are made for forms: they accept "1_000", "yes", Unicode digits and 2**63. These do not.
A serializer built on `RequestSerializer` is stateless, so one instance serves every request.
"""

import ipaddress
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date
from decimal import Decimal
from functools import cache, cached_property
from typing import Any, ClassVar, NoReturn, TypeAlias
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError as InvalidValue
from django.core.validators import EmailValidator
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from iso4217 import Currency as ISO4217Currency
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.fields import empty

from kit.api.fields.field_codes import FieldCode
from kit.api.fields.field_errors import Errors, InvalidFields, closest, error, unknown_fields
from kit.banks import ACCOUNT_NUMBER
from kit.text.countries import ALPHA3
from kit.text.display_names import (
    CONTROL_CHARACTERS,
    INVISIBLE_MARKS,
    REFUSAL,
    has_control_character,
    pasted,
)
from kit.text.masking import mask_card_numbers

Schema: TypeAlias = dict[str, Any]

MAX_AMOUNT = 10**12  # minor units
HOST = re.compile(
    r"([a-z0-9_][a-z0-9._-]*|[0-9a-f:.]+)\Z"
)  # a name, or an IP address as returned by `urlsplit`
CURRENCIES = frozenset(currency.code for currency in ISO4217Currency)

REQUIRED = "This field is required."


class Strict:
    """Validation of a value that may be absent or null.

    This replaces DRF's version, whose further checks are needed only for forms.
    """

    default_error_messages: ClassVar[Any] = {
        "required": REQUIRED,
        "null": "This field may not be null; leave it out instead.",
    }

    def run_validation(self: Any, data: Any = empty) -> Any:
        if data is empty:
            if self.required:
                self.fail("required")
            return self.get_default()
        if data is None:
            if not self.allow_null:
                self.fail("null")
            return None
        return self.to_internal_value(data)


class StrictField(Strict, serializers.Field):
    """A field with one accepted JSON type. `null` is refused: leave an optional field out instead.

    `help_text` and `example` appear in the API's description, and so does the JSON Schema.
    """

    MEANING: str | None = None  # the default of `help_text`
    EXAMPLE: Any = None  # the default of `example`
    SCHEMA: ClassVar[Schema] = {}

    def __init__(self, *, example: Any = None, **options: Any) -> None:
        super().__init__(**{"help_text": self.MEANING} | options)
        self.example = self.EXAMPLE if example is None else example

    def refuse(self, message: str, code: FieldCode = "invalid") -> NoReturn:
        raise ValidationError(message, code=code)

    def to_representation(self, value: Any) -> Any:
        return value

    def json_schema(self) -> Schema:
        return dict(self.SCHEMA)


class Text(StrictField):
    """A string of `min_length` to `max_length` characters. A pattern, if given, must match the whole string.

    A subclass that checks more in code says in `SCHEMA` what JSON Schema has a word for.
    """

    def __init__(
        self, *, min_length: int = 1, max_length: int = 255, pattern: str = "", says: str = "", **options: Any
    ) -> None:
        super().__init__(**options)
        self.min_length, self.max_length = min_length, max_length
        self.pattern = pattern
        self._matches = re.compile(pattern).fullmatch if pattern else None
        self._says = says

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.refuse("This field must be a string.", "invalid_type")
        if not self.min_length <= len(data) <= self.max_length:
            self.refuse(self._says or self._length_rule(), "invalid_length")
        if "\x00" in data:
            self.refuse("This field may not hold the character U+0000.")
        if self._matches is not None and not self._matches(data):
            self.refuse(self._says)
        return data

    def json_schema(self) -> Schema:
        schema = {
            "type": "string",
            "pattern": anchored(self.pattern or r"[^\x00]*"),
            "maxLength": self.max_length,
        }
        # Any other pattern says the shortest length itself.
        if self.min_length and (not self.pattern or self.pattern.endswith(("+", "*"))):
            schema["minLength"] = self.min_length
        return schema | self.SCHEMA

    def _length_rule(self) -> str:
        return f"This field must have {self.min_length} to {self.max_length} characters."


def anchored(pattern: str) -> str:
    """Return the pattern anchored at both ends, because our fields match the whole string.

    >>> anchored("[0-9]{3,4}"), anchored("0[1-9]|1[0-2]")
    ('^[0-9]{3,4}$', '^(0[1-9]|1[0-2])$')
    """
    return f"^({pattern})$" if "|" in pattern else f"^{pattern}$"


def _with_visible(character: str) -> Schema:
    """Return the schema of a text of such characters that has a visible one."""
    return {"pattern": rf"^{character}[^\s{CONTROL_CHARACTERS}{INVISIBLE_MARKS}]{character}$"}


def _pasted(data: Any) -> Any:
    return pasted(data) if isinstance(data, str) else data


class NotBlank(Text):
    """A string with at least one character that is not white space."""

    SCHEMA: ClassVar[Schema] = {"pattern": r"^[^\x00]*[^\s\x00][^\x00]*$"}

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if not value.strip():
            self.refuse("This field may not be blank.")
        return value


class FreeText(Text):
    """Text from the merchant that is stored. Its column masks card numbers (`kit.db.card_number_fields`)."""


class Name(NotBlank):
    """A name on one line, without invisible marks. Its column masks card numbers; a cardholder's name isn't stored."""

    SCHEMA: ClassVar[Schema] = _with_visible(f"[^{CONTROL_CHARACTERS}]*")

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(_pasted(data))
        if has_control_character(value):
            self.refuse(REFUSAL)
        return value


# URL libraries resolve "." and ".." in paths: a resource with such a reference could not be looked up.
REFERENCE = r"(?!\.\.?$)[A-Za-z0-9._:-]{1,100}"


class Reference(Text):
    """A merchant's reference of a resource."""

    EXAMPLE = "order-1042"

    def __init__(self, **options: Any) -> None:
        super().__init__(
            max_length=100,
            pattern=REFERENCE,
            says="This field must have 1 to 100 characters of A-Z a-z 0-9 . _ : - and may not be . or ..",
            **options,
        )


class UUID(Text):
    """A UUID as text."""

    EXAMPLE = "01980a5e-b370-7c00-8000-000000000001"
    SCHEMA: ClassVar[Schema] = {"format": "uuid"}

    def __init__(self, **options: Any) -> None:
        super().__init__(
            pattern=r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
            says="This field must be a UUID.",
            **options,
        )


class AccountNumber(Text):
    """The ten-digit number of a bank account."""

    MEANING, EXAMPLE = "Exactly 10 digits.", "0123456789"

    def __init__(self, **options: Any) -> None:
        super().__init__(
            pattern=ACCOUNT_NUMBER.pattern, says="This field must have exactly 10 digits.", **options
        )


class Country(Text):
    """An ISO 3166-1 alpha-3 country code."""

    MEANING, EXAMPLE = "ISO 3166-1 alpha-3.", "NGA"
    SCHEMA: ClassVar[Schema] = {"pattern": anchored("|".join(sorted(ALPHA3)))}

    def __init__(self, **options: Any) -> None:
        super().__init__(
            pattern=r"[A-Z]{3}", says="This field must be an ISO 3166-1 alpha-3 code such as NGA.", **options
        )

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if value not in ALPHA3:
            self.refuse(self._says)
        return value


class Choice(StrictField):
    """One of a few strings; with `any_case`, case-insensitive."""

    def __init__(self, choices: Collection[str], *, any_case: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.choices = tuple(choices)
        self.any_case = any_case
        self.example = self.example or self.choices[0]

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.refuse("This field must be a string.", "invalid_type")
        value = data.lower() if self.any_case and data.isascii() else data
        if value not in self.choices:
            suggestion = closest(value, self.choices)
            question = f"; did you mean {suggestion}?" if suggestion else "."
            self.refuse(f"This field must be {_either(self.choices)}{question}", "invalid_choice")
        return value

    def json_schema(self) -> Schema:
        if not self.any_case:
            return {"type": "string", "enum": list(self.choices)}
        pattern = "|".join(
            re.sub("(.)", lambda found: f"[{found[1].upper()}{found[1]}]", word) for word in self.choices
        )
        return {"type": "string", "pattern": anchored(pattern), "maxLength": max(map(len, self.choices))}


class Flag(StrictField):
    """Strictly true or false."""

    SCHEMA: ClassVar[Schema] = {"type": "boolean"}

    def to_internal_value(self, data: Any) -> Any:
        if data is not True and data is not False:
            self.refuse("This field must be true or false.", "invalid_type")
        return data


class WholeNumber(StrictField):
    """A number without a fraction: 1000 and 1000.0, but not 10.5, "1000" or true."""

    def __init__(self, *, minimum: int, maximum: int, **options: Any) -> None:
        super().__init__(**options)
        self.minimum, self.maximum = minimum, maximum

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, bool) or not isinstance(data, int | Decimal):
            self.refuse("This field must be a number.", "invalid_type")
        if data < self.minimum:
            self.refuse(f"This field must be at least {self.minimum}.", "too_small")
        if data > self.maximum:
            self.refuse(f"This field must be at most {self.maximum}.", "too_large")
        if data != int(data):
            self.refuse("This field must be a whole number.")
        return int(data)

    def json_schema(self) -> Schema:
        return {"type": "integer", "format": "int64", "minimum": self.minimum, "maximum": self.maximum}


class Amount(WholeNumber):
    """Minor units, greater than 0."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"minimum": 1, "maximum": MAX_AMOUNT} | options)


class Currency(StrictField):
    """An alphabetic ISO 4217 code in upper case. Whether the business may use it is checked elsewhere."""

    MEANING = (
        "ISO 4217, and enabled for your business (by default NGN and USD). A payout's must be the bank's."
    )
    EXAMPLE = "NGN"
    SCHEMA: ClassVar[Schema] = {"type": "string", "pattern": "^[A-Z]{3}$", "maxLength": 3}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.refuse("This field must be a string.", "invalid_type")
        if data not in CURRENCIES:
            self.refuse("This field must be an ISO 4217 code such as NGN.", "unsupported_currency")
        return data


class Email(Text):
    MEANING, EXAMPLE = "E-mail address.", "ada@shop.example"
    SCHEMA: ClassVar[Schema] = {"format": "email"}

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=254, **options)

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(_pasted(data))
        try:
            _is_email(value)
        except InvalidValue:
            self.refuse("This field must be an e-mail address.")
        return value


_is_email = EmailValidator()


class IPAddress(Text):
    """An IPv4 or IPv6 address, returned in its canonical form."""

    SCHEMA: ClassVar[Schema] = {"pattern": r"^([0-9]{1,3}(\.[0-9]{1,3}){3}|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*)$"}

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=45, **options)

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if "%" in value:  # a zone has a meaning on one host only
            self.refuse("This field must be an IPv4 or IPv6 address.")
        try:
            return str(ipaddress.ip_address(value))
        except ValueError:
            self.refuse("This field must be an IPv4 or IPv6 address.")


class WebAddress(Text):
    """An absolute http or https URL without credentials. `schemes` lists the allowed schemes."""

    def __init__(self, *, schemes: Collection[str] = ("http", "https"), **options: Any) -> None:
        super().__init__(
            max_length=2048,
            pattern=r"[!-\[\]-~]+",  # printable ASCII without space and backslash
            says="This field must be an absolute address of at most 2048 ASCII characters, without blanks.",
            **options,
        )
        self.schemes = tuple(schemes)

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        try:
            parts = urlsplit(value)
            hostname, _port = parts.hostname, parts.port
        except ValueError:
            self.refuse("This field must be an absolute address.")
        if parts.scheme not in self.schemes or not hostname or not HOST.match(hostname):
            self.refuse(f"This field must be an absolute {_either(self.schemes)} address.")
        if "@" in parts.netloc:
            self.refuse("This field may not hold credentials.")
        return value

    def json_schema(self) -> Schema:
        pattern = f"^({'|'.join(self.schemes)})://{self.pattern}$"
        return super().json_schema() | {"format": "uri", "pattern": pattern}


class Moment(Text):
    """An RFC 3339 time with an offset, converted to UTC and truncated to the microsecond."""

    EXAMPLE = "2026-01-31T08:00:00Z"
    SCHEMA: ClassVar[Schema] = {"format": "date-time"}

    def __init__(self, **options: Any) -> None:
        super().__init__(
            max_length=40,
            pattern=r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})",
            says="This field must be a moment in RFC 3339 such as 2026-01-31T08:00:00Z.",
            **options,
        )

    def to_internal_value(self, data: Any) -> Any:
        """Return the datetime. Subclasses may return what they convert it to."""
        value = super().to_internal_value(data)
        try:
            moment = parse_datetime(value.upper())
            return moment.astimezone(UTC) if moment else self.refuse(self._says)
        except (ValueError, OverflowError):  # an invalid date, or outside the calendar once converted to UTC
            self.refuse(self._says)


class Metadata(StrictField):
    """Up to 20 keys chosen by the merchant, with string values, returned unchanged."""

    MOST_KEYS, LONGEST_KEY, LONGEST_VALUE = 20, 40, 500
    MEANING = (
        f"Your own keys and values: at most {MOST_KEYS} keys of 1 to {LONGEST_KEY} characters, each with a string of "
        f"up to {LONGEST_VALUE}. Returned unchanged in responses and webhooks, and compared when a request is "
        "repeated. Search the dashboard by `key=value`."
    )
    EXAMPLE = {"order": "1042", "shop": "Lagos"}
    RETURNED: ClassVar[Schema] = {
        "type": "object",
        "maxProperties": MOST_KEYS,
        "additionalProperties": {"type": "string", "maxLength": LONGEST_VALUE},
    }
    SCHEMA: ClassVar[Schema] = RETURNED | {
        "propertyNames": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY}
    }
    WRONG_KEY = f"Each key must have 1 to {LONGEST_KEY} characters, none of them U+0000."

    def to_internal_value(self, data: Any) -> dict[str, str]:
        if not isinstance(data, Mapping):
            self.refuse("This field must be an object.", "invalid_type")
        if len(data) > self.MOST_KEYS:
            self.refuse(f"This field may have at most {self.MOST_KEYS} keys.", "too_many_keys")
        wrong_keys = [key for key in data if not 1 <= len(key) <= self.LONGEST_KEY or "\x00" in key]
        errors: Errors = {}
        for key, value in data.items():
            if key in wrong_keys:
                continue
            try:
                self._value.to_internal_value(value)
            except ValidationError as refused:
                errors[mask_card_numbers(key)] = refused.detail
        if wrong_keys:  # an error of keys names the field, an error of a value names its key
            raise InvalidFields([*error(self.WRONG_KEY, "invalid_key"), errors])
        if errors:
            raise InvalidFields(errors)
        return dict(data)

    _value = Text(min_length=0, max_length=LONGEST_VALUE)


class Items(StrictField):
    """An array of `minimum` to `maximum` items, each read by `item`."""

    def __init__(
        self, item: serializers.Field, *, minimum: int = 0, maximum: int, is_set: bool = False, **options: Any
    ) -> None:
        super().__init__(**options)
        self.item, self.minimum, self.maximum, self.is_set = item, minimum, maximum, is_set

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, Sequence) or isinstance(data, str | bytes):
            self.refuse("This field must be an array.", "invalid_type")
        if not self.minimum <= len(data) <= self.maximum:
            self.refuse(f"This field must have {self.minimum} to {self.maximum} items.", "invalid_length")
        values, errors = [], {}
        for place, each in enumerate(data):
            try:
                values.append(self.item.run_validation(each))
            except ValidationError as refused:
                errors[str(place)] = refused.detail
        if errors:
            raise InvalidFields(errors)
        if self.is_set and len(set(values)) < len(values):
            self.refuse("This field may hold each value once only.", "duplicate")
        return values

    def json_schema(self) -> Schema:
        schema: Schema = {"type": "array", "maxItems": self.maximum}
        schema |= {"minItems": self.minimum} if self.minimum else {}
        schema |= {"uniqueItems": True} if self.is_set else {}
        return schema | ({"items": self.item.json_schema()} if isinstance(self.item, StrictField) else {})


class Lines(Text):
    r"""Text of one or more lines without other control characters, with `\n` as the line end. Not blank."""

    SCHEMA: ClassVar[Schema] = _with_visible(rf"([^{CONTROL_CHARACTERS}]|\r?\n)*")

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(_pasted(data)).replace("\r\n", "\n")
        if not value.strip():
            self.refuse("This field may not be blank.")
        if any(has_control_character(line) for line in value.split("\n")):
            self.refuse(REFUSAL)
        return value


class PastDate(Text):
    """A date before today, YYYY-MM-DD."""

    SCHEMA: ClassVar[Schema] = {"format": "date"}

    def __init__(self, **options: Any) -> None:
        super().__init__(
            pattern=r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
            says="This field must be a past date such as 1990-12-31.",
            **options,
        )

    def to_internal_value(self, data: Any) -> date:
        value = super().to_internal_value(data)
        try:
            day = date.fromisoformat(value)
        except ValueError:  # no such day
            self.refuse(self._says)
        if day >= timezone.now().date():
            self.refuse(self._says)
        return day


class Ignored(StrictField):
    """A field that is accepted with any value and ignored."""

    MEANING, EXAMPLE = "Ignored.", "any value"
    SCHEMA: ClassVar[Schema] = {"type": "string", "maxLength": 255}  # as such a field is usually sent

    def __init__(self) -> None:
        super().__init__(required=False)

    def run_validation(self, data: Any = empty) -> NoReturn:
        raise serializers.SkipField


class RequestSerializer(Strict, serializers.Serializer):
    """An object of a request. All errors are found in one pass; unknown fields are errors.

    `elsewhere` names the fields of other kinds of request, for a more specific error; `beside` names what is read apart
    from this object. The docstring describes the object in the API's description; `conditions` are those of
    `unmet_conditions` that JSON Schema has a word for. No `oneOf`, of which generators make classes without a name.
    """

    default_error_messages = {"invalid": "This field must be an object."}
    elsewhere: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    conditions: ClassVar[Schema] = {}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise ValidationError(self.error_messages["invalid"], code="invalid_type")
        values, errors = self._read_fields(data)
        errors |= self.unmet_conditions(data)
        errors |= self._unexpected(data)
        if errors:
            raise InvalidFields(errors)
        return values

    def unmet_conditions(self, data: Mapping[str, Any]) -> Errors:
        """Return the errors of rules that depend on which fields are present."""
        return {}

    def _read_fields(self, data: Mapping[str, Any]) -> tuple[dict[str, Any], Errors]:
        values: dict[str, Any] = {}
        errors: Errors = {}
        for name, source, field in self._plan:
            try:
                values[source] = field.run_validation(data.get(name, empty))
            except ValidationError as refused:
                errors[name] = refused.detail
            except serializers.SkipField:
                pass
        return values, errors

    @cached_property
    def _plan(self) -> list[tuple[str, str, serializers.Field]]:
        """Return names, sources and fields. Cached, because `fields` is slow."""
        return [(name, str(field.source), field) for name, field in self.fields.items()]

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.fields)

    def _unexpected(self, data: Mapping[str, Any]) -> Errors:
        """Return the errors of unknown fields."""
        return unknown_fields(data, known=self._known, elsewhere=self.elsewhere, beside=self.beside)


@cache
def instance_of(serializer: type[RequestSerializer]) -> RequestSerializer:
    """Return the one instance of a serializer, because the first use of its fields is slow."""
    return serializer()


def required_together(data: Mapping[str, Any], *names: str, when: Collection[str]) -> Errors:
    """Return an error for each absent name if any field of `when` is present.

    >>> [str(found) for found in required_together({"name": ""}, "name", "email", when=("name", "email"))["email"]]
    ['This field is required with name.']
    """
    if not any(name in data for name in when):
        return {}
    return {
        name: error(
            f"This field is required with {_either([other for other in when if other != name])}.", "required"
        )
        for name in names
        if name not in data
    }


def _either(options: Collection[str]) -> str:
    *rest, last = options
    return f"{', '.join(rest)} or {last}" if rest else last


def read_request(
    serializer: RequestSerializer, data: Mapping[str, Any], *, currencies: Sequence[str]
) -> dict[str, Any]:
    """Return the values of a request. All errors are reported together, including a currency that isn't enabled.

    :raises ValidationError: the request is invalid
    """
    errors: Errors = {}
    values: dict[str, Any] = {}
    try:
        values = serializer.run_validation(data)
    except ValidationError as refused:
        if not isinstance(refused.detail, dict):
            raise
        errors = refused.detail
    currency = data.get("currency")
    if isinstance(currency, str) and currency in CURRENCIES and currency not in currencies:
        message = f"This business is enabled for {_either(tuple(currencies))} only."
        errors["currency"] = error(message, "unsupported_currency")
    if errors:
        raise InvalidFields(errors)
    return values
