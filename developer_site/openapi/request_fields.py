"""The requests in JSON Schema. Every limit is read from the field itself; nothing is said twice."""

from functools import singledispatch
from typing import Any, TypeAlias

from drf_spectacular.drainage import warn
from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction
from rest_framework.fields import Field

from kit.api.fields.answer_fields import METADATA
from kit.api.fields.strict_fields import (
    UUID,
    Choice,
    Country,
    Currency,
    Email,
    Flag,
    Ignored,
    IPAddress,
    Items,
    Lines,
    Metadata,
    Moment,
    Name,
    NotBlank,
    PastDate,
    RequestSerializer,
    StrictField,
    Text,
    WebAddress,
    WholeNumber,
)
from kit.text.countries import ALPHA3
from kit.text.display_names import CONTROL_CHARACTERS, INVISIBLE_MARKS
from payments.api.exam_serializers import ExamAnswerSerializer, ExamAnswersSerializer, ExamSerializer
from payments.api.link_serializers import LinkSerializer, Slug
from payments.api.serializers import BankCode, CardNumber, PayerSerializer, SimulateSerializer

Schema: TypeAlias = dict[str, Any]

# Rules between fields, which the serializers hold as code: a name here is where JSON Schema has a word.
FIELDS_THAT_NEED_OTHERS = {
    PayerSerializer: {"reference": ["email"], "email": ["reference"], "name": ["reference", "email"]},
    SimulateSerializer: {
        "sender_account_number": ["sender_bank_code"],
        "sender_bank_code": ["sender_account_number"],
    },
}
# Further conditions. Not as `oneOf`, of which generators make classes without a name.
CONDITIONS: dict[type[RequestSerializer], Schema] = {
    ExamAnswerSerializer: {"if": {"not": {"required": ["status"]}}, "then": {"required": ["error"]}},
    ExamAnswersSerializer: {"if": {"not": {"required": ["answers"]}}, "then": {"required": ["acted"]}},
    ExamSerializer: {
        "if": {"properties": {"target": {"const": "client"}}, "required": ["target"]},
        "then": {"required": ["listener"]},
        "else": {"properties": {"listener": False}},
    },
    LinkSerializer: {
        "if": {"not": {"required": ["amount"]}},
        "then": {"required": ["amount_range"]},
        "else": {"properties": {"amount_range": False}},
    },
}
IPV4 = r"[0-9]{1,3}(\.[0-9]{1,3}){3}"
IPV6 = r"[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*"
NOT_ZERO = r"[^\x00]"  # PostgreSQL's texts can't hold U+0000

FIRST = ("request_type", "payment_method")  # they decide what the other fields are


class StrictFieldSchema(OpenApiSerializerFieldExtension):
    target_class = StrictField
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        return field_schema(self.target)


class RequestSchema(OpenApiSerializerExtension):
    """An object of a request: closed, because unknown fields are refused."""

    target_class = RequestSerializer
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        serializer = type(self.target)
        schema: Schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)  # noqa: SLF001
        schema["description"] = serializer.__doc__
        schema["additionalProperties"] = False
        if serializer in FIELDS_THAT_NEED_OTHERS:
            schema["dependentRequired"] = FIELDS_THAT_NEED_OTHERS[serializer]
        schema |= CONDITIONS.get(serializer, {})
        properties = described(self.target, schema.get("properties", {}))
        for each in properties.values():
            # Generators take a field with a default for one that is always sent. Its words say what absence means.
            each.pop("default", None)
        required = schema.get("required", [])
        # As one reads them: what decides, what must be there, what may be.
        ordered = sorted(properties, key=lambda field: (field not in FIRST, field not in required))
        schema["properties"] = {field: properties[field] for field in ordered}
        return schema


def described(serializer: RequestSerializer, properties: Schema) -> Schema:
    """Add to each property what it means and an example."""
    return {
        name: _reference(schema) | _meaning(serializer.fields[name]) for name, schema in properties.items()
    }


def _reference(schema: Schema) -> Schema:
    """Undo drf-spectacular's wrapping of a described reference. OpenAPI 3.1 needs none."""
    match schema:
        case {"allOf": [{"$ref": reference}]}:
            return {"$ref": reference}
    return schema


def _meaning(field: Field) -> Schema:
    if not field.help_text:
        warn(f"{type(field.parent).__name__}.{field.field_name} has no help_text.")
    example = getattr(field, "example", None)
    if example is None:
        example = _implied_example(field)
    return {"description": str(field.help_text)} | ({} if example is None else {"examples": [example]})


def _implied_example(field: Field) -> Any:
    if isinstance(field, Choice):
        return field.choices[0]
    if isinstance(field, Items) and isinstance(field.item, RequestSerializer):
        members: Any = field.item.fields.items()
        return [{name: member.example or _implied_example(member) for name, member in members}]
    return None


@singledispatch
def field_schema(field: StrictField) -> Schema:
    """Return the JSON Schema of a field."""
    warn(f"developer_site.openapi.request_fields does not know {type(field).__name__}.")
    return {}


@field_schema.register
def _text(field: Text) -> Schema:
    schema: Schema = {"type": "string"}
    schema["pattern"] = anchored(field.pattern) if field.pattern else f"^{NOT_ZERO}*$"
    if not field.pattern or field.pattern.endswith("+"):  # any other pattern says the shortest length itself
        schema |= {"minLength": field.min_length} if field.min_length else {}
    return schema | {"maxLength": field.max_length}


def anchored(pattern: str) -> str:
    """Return the pattern anchored at both ends, because our fields match the whole string.

    >>> anchored("[0-9]{3,4}"), anchored("0[1-9]|1[0-2]")
    ('^[0-9]{3,4}$', '^(0[1-9]|1[0-2])$')
    """
    return f"^({pattern})$" if "|" in pattern else f"^{pattern}$"


@field_schema.register
def _not_blank(field: NotBlank) -> Schema:
    return _text(field) | {"pattern": rf"^{NOT_ZERO}*[^\s\x00]{NOT_ZERO}*$"}


@field_schema.register
def _lines(field: Lines) -> Schema:
    character = rf"([^{CONTROL_CHARACTERS}]|\r?\n)*"
    return _text(field) | {"pattern": rf"^{character}[^\s{CONTROL_CHARACTERS}{INVISIBLE_MARKS}]{character}$"}


@field_schema.register
def _items(field: Items) -> Schema:
    """Return the schema of an array. Objects in it are described in place: each is used by one field only."""
    item: Any = field.item
    each = _object(item) if isinstance(item, RequestSerializer) else field_schema(item)
    return {
        "type": "array",
        "items": each,
        "maxItems": field.maximum,
        **({"minItems": field.minimum} if field.minimum else {}),
        **({"uniqueItems": True} if field.is_set else {}),
    }


def _object(serializer: RequestSerializer) -> Schema:
    fields: Any = serializer.fields.items()
    return {
        "type": "object",
        "properties": {name: field_schema(field) | _meaning(field) for name, field in fields},
        "required": [name for name, field in fields if field.required],
        "additionalProperties": False,
        **CONDITIONS.get(type(serializer), {}),
    }


@field_schema.register
def _name(field: Name) -> Schema:
    printable = f"[^{CONTROL_CHARACTERS}]*"
    return _text(field) | {"pattern": rf"^{printable}[^\s{CONTROL_CHARACTERS}{INVISIBLE_MARKS}]{printable}$"}


@field_schema.register
def _card_number(field: CardNumber) -> Schema:
    return _text(field) | {"pattern": "^ *([0-9] *){12,19}$"}


@field_schema.register
def _bank_code(_field: BankCode) -> Schema:
    return {"type": "string", "pattern": "^[0-9]{3,6}$", "maxLength": 6}


@field_schema.register
def _uuid(field: UUID) -> Schema:
    return _text(field) | {"format": "uuid"}


@field_schema.register
def _slug(field: Slug) -> Schema:
    return _text(field) | {"minLength": field.min_length}


@field_schema.register
def _country(field: Country) -> Schema:
    return _text(field) | {"pattern": f"^({'|'.join(sorted(ALPHA3))})$"}


@field_schema.register
def _date(field: PastDate) -> Schema:
    return _text(field) | {"format": "date"}


@field_schema.register
def _ignored(_field: Ignored) -> Schema:
    """Return the type in which such a field is usually sent, though any value is accepted."""
    return {"type": "string", "maxLength": 255}


@field_schema.register
def _email(field: Email) -> Schema:
    return _text(field) | {"format": "email"}


@field_schema.register
def _ip_address(field: IPAddress) -> Schema:
    return _text(field) | {"pattern": f"^({IPV4}|{IPV6})$"}


@field_schema.register
def _web_address(field: WebAddress) -> Schema:
    pattern = f"({'|'.join(field.schemes)})://{field.pattern}"
    return _text(field) | {"format": "uri", "pattern": f"^{pattern}$"}


@field_schema.register
def _moment(field: Moment) -> Schema:
    return _text(field) | {"format": "date-time"}


@field_schema.register
def _choice(field: Choice) -> Schema:
    if not field.any_case:
        return {"type": "string", "enum": list(field.choices)}
    pattern = anchored("|".join(_in_any_case(word) for word in field.choices))
    return {"type": "string", "pattern": pattern, "maxLength": max(map(len, field.choices))}


def _in_any_case(word: str) -> str:
    return "".join(f"[{letter.upper()}{letter}]" for letter in word)


@field_schema.register
def _metadata(field: Metadata) -> Schema:
    names = {"type": "string", "minLength": 1, "maxLength": field.LONGEST_KEY}
    return METADATA.schema | {"propertyNames": names}


@field_schema.register
def _flag(_field: Flag) -> Schema:
    return {"type": "boolean"}


@field_schema.register
def _whole_number(field: WholeNumber) -> Schema:
    return {"type": "integer", "format": "int64", "minimum": field.minimum, "maximum": field.maximum}


@field_schema.register
def _currency(_field: Currency) -> Schema:
    return {"type": "string", "pattern": "^[A-Z]{3}$", "maxLength": 3}
