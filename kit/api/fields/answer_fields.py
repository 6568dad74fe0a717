"""Answers of the API. Each field is declared once: its name, type, meaning, example, presence and where its value is.

From the declaration come the representation, the JSON Schema, the examples and the field tables of the guides.

>>> from types import SimpleNamespace
>>> BOX = Answer(
...     "Box", "A box.",
...     Field("id", TEXT, "Its id.", "b-1", value="pk"),
...     Field("weight", COUNT, "Grams. Once it was weighed.", 20, omit=NONE),
... )
>>> BOX.represent(SimpleNamespace(pk="b-7", weight=None))
{'id': 'b-7'}
>>> BOX.schema()["required"], BOX.example(weight=5)
(['id'], {'id': 'b-1', 'weight': 5})
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, TypeAlias

from kit.api.fields.strict_fields import Metadata as MetadataField
from kit.time.timestamps import timestamp

Schema: TypeAlias = dict[str, Any]
Represent: TypeAlias = Callable[[Any], dict[str, Any]]

# Values with which a field is omitted. By default a field is always present, and null if it has no value.
NONE = (None,)
EMPTY = (None, "", 0)


@dataclass(frozen=True, slots=True)
class Type:
    """A JSON type: its schema, how a value of the model becomes one, and an example for fields without their own."""

    schema: Schema
    convert: Callable[[Any], Any] | None = None
    example: Any = None


def text(pattern: str, example: str | None = None, *, length: int = 255) -> Type:
    return Type({"type": "string", "pattern": pattern, "maxLength": length}, example=example)


def one_of(values: Iterable[str]) -> Type:
    """Return the type of a closed list. A generated client refuses any other value."""
    closed = list(values)
    return Type({"type": "string", "enum": closed}, example=closed[0])


def open_list(values: Iterable[str]) -> Type:
    """Return the type of a list that may grow. A generated client must accept values that it doesn't know."""
    known = list(values)
    return Type({"type": "string", "x-extensible-enum": known, "maxLength": 255}, example=known[0])


def always(value: bool) -> Type:  # noqa: FBT001  (it reads as `always(True)`)
    """Return the type of a boolean that is always the same. The field's meaning says which."""
    return Type({"type": "boolean"}, example=value)


def up_to(length: int) -> Type:
    """Return the type of a text of at most this many characters."""
    return Type({"type": "string", "maxLength": length})


LARGEST = 2**63 - 1  # of a column
MOST_OF_A_PAGE = 100
MANY = 1_000  # more items than any array has

TEXT = up_to(4_096)
REFERENCE = up_to(100)  # a merchant's
UUID = Type(
    {"type": "string", "format": "uuid", "maxLength": 36}, str, "01980a5e-b370-7c00-8000-000000000001"
)
MOMENT = Type(
    {"type": "string", "format": "date-time", "maxLength": 24}, timestamp, "2026-01-31T08:00:00.000Z"
)
DATE = Type({"type": "string", "format": "date", "maxLength": 10}, methodcaller("isoformat"), "2026-01-31")
URL = Type({"type": "string", "format": "uri", "maxLength": 8_190}, example="https://pay.example/")
CURRENCY = text("^[A-Z]{3}$", "NGN", length=3)
DIGITS = Type({"type": "string", "pattern": "^[0-9]+$", "maxLength": 19}, str)
WHOLE_NUMBER = Type({"type": "integer", "minimum": -LARGEST, "maximum": LARGEST}, example=1)
COUNT = Type({"type": "integer", "minimum": 0, "maximum": LARGEST}, example=1)
POSITION = Type({"type": "integer", "minimum": 1, "maximum": LARGEST}, example=1)
# Without the maximum of requests: a payer's transfer, and sums, may be larger.
MINOR_UNITS = Type({"type": "integer", "format": "int64", "minimum": 0, "maximum": LARGEST}, example=50_000)
BALANCE = Type(
    {"type": "integer", "format": "int64", "minimum": -LARGEST, "maximum": LARGEST}, example=50_000
)  # minor units, may be negative
FLAG = Type({"type": "boolean"}, example=True)
OBJECT = Type({"type": "object"}, example={})
METADATA = Type(MetadataField.RETURNED, example=MetadataField.EXAMPLE)


@dataclass(frozen=True, slots=True)
class ListOf:
    """A JSON array of answers."""

    item: Answer
    most: int = MANY


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an answer.

    `value` is the path of the model's attribute, by default the field's name, or a function of the model. `kinds`
    names the kinds of the answer that have the field, by default all.
    """

    name: str
    type: Type | Answer | ListOf
    meaning: str
    example: Any = None
    value: str | Callable[[Any], Any] = ""
    omit: tuple[Any, ...] = ()
    kinds: tuple[str, ...] = ()
    is_nullable: bool = False

    @property
    def is_required(self) -> bool:
        return not self.omit and not self.kinds

    def schema(self) -> Schema:
        described = {"description": self.meaning} if self.meaning else {}
        shown = self.type.example if self.example is None and isinstance(self.type, Type) else self.example
        examples = {} if shown is None else {"examples": [shown]}
        return self._type_schema() | described | examples

    def _type_schema(self) -> Schema:
        if isinstance(self.type, ListOf):
            return {"type": "array", "items": self.type.item.reference, "maxItems": self.type.most}
        if isinstance(self.type, Answer):
            either = {"oneOf": [self.type.reference, {"type": "null"}]}
            return either if self.is_nullable else self.type.reference
        schema = self.type.schema
        if self.is_nullable:
            schema = schema | {"type": [schema["type"], "null"]}
            schema |= {"enum": [*schema["enum"], None]} if "enum" in schema else {}
        return schema

    def example_value(self) -> Any:
        """Return the example, or what follows from the type: the only value, or the example of a required object."""
        if self.example is not None:
            return self.example
        if isinstance(self.type, Answer):
            return None if self.omit or self.is_nullable else self.type.example()
        values = [] if isinstance(self.type, ListOf) else self.type.schema.get("enum", [])
        return values[0] if len(values) == 1 else None

    def converter(self) -> Callable[[Any], Any] | None:
        if isinstance(self.type, ListOf):
            represent = self.type.item.represent
            return lambda items: [represent(item) for item in items]
        return self.type.represent if isinstance(self.type, Answer) else self.type.convert


CURRENCY_FIELD = Field("currency", CURRENCY, "ISO 4217.", "NGN")
METADATA_FIELD = Field(
    "metadata",
    METADATA,
    "Your own keys and values, as you sent them. Present if you sent any.",
    MetadataField.EXAMPLE,
    omit=NONE,
)


class Answer:
    """An object that the API returns, with its fields in the order in which they are sent.

    `kind_of` returns the kind of a model whose answers differ: a field with `kinds` is sent for these only.
    """

    def __init__(
        self, name: str, meaning: str, *fields: Field, kind_of: Callable[[Any], str] | None = None
    ) -> None:
        self.name, self.meaning, self.fields, self.kind_of = name, meaning, fields, kind_of
        self.reference = {"$ref": f"#/components/schemas/{name}"}
        self.represent: Represent = _representation(fields, kind_of)

    def __getitem__(self, name: str) -> Field:
        return next(field for field in self.fields if field.name == name)

    def fields_of(self, kind: str) -> list[Field]:
        """Return the fields of a kind, or all for an empty one."""
        return [field for field in self.fields if _belongs(field, kind)]

    def extended(self, name: str, meaning: str, *fields: Field) -> Answer:
        """Return an answer with further fields after those of this one."""
        return Answer(name, meaning, *self.fields, *fields, kind_of=self.kind_of)

    def schema(self) -> Schema:
        return {
            "type": "object",
            "description": self.meaning,
            "required": [field.name for field in self.fields if field.is_required],
            "properties": {field.name: field.schema() for field in self.fields},
        }

    def example(self, kind: str = "", /, *, without: Collection[str] = (), **changes: Any) -> dict[str, Any]:
        """Return the examples of the fields of a kind, except those that have none or are not wanted."""
        examples = {
            field.name: field.example_value() for field in self.fields_of(kind) if field.name not in without
        }
        wanted = examples | changes
        return {
            field.name: wanted[field.name]
            for field in self.fields_of(kind)
            if wanted.get(field.name) is not None or field.name in changes
        }

    def within(self) -> Iterator[Answer]:
        """Yield this answer and all that its fields refer to."""
        yield self
        for field in self.fields:
            nested = field.type.item if isinstance(field.type, ListOf) else field.type
            if isinstance(nested, Answer):
                yield from nested.within()


class Union:
    """One of several answers. Each has a required field that the others don't have."""

    def __init__(self, name: str, meaning: str, *members: Answer) -> None:
        self.name, self.meaning, self.members = name, meaning, members
        self.reference = {"$ref": f"#/components/schemas/{name}"}

    def schema(self) -> Schema:
        return {"description": self.meaning, "oneOf": [member.reference for member in self.members]}

    def within(self) -> Iterator[Answer | Union]:
        """Yield this union and all that its members refer to."""
        yield self
        for member in self.members:
            yield from member.within()


def page_of(item: Answer, meaning: str, *beside: Field, next_is: str = "older") -> Answer:
    """Return the answer with a page of items (`kit.api.pagination`), and fields beside it."""
    return Answer(
        f"{item.name}List",
        meaning,
        Field("data", ListOf(item, MOST_OF_A_PAGE), "The items of this page."),
        Field("next", URL, f"URL of the next page, {next_is} ones; null on the last page.", is_nullable=True),
        Field("previous", URL, "URL of the previous page; null on the first page.", is_nullable=True),
        *beside,
    )


def _belongs(field: Field, kind: str) -> bool:
    return not kind or not field.kinds or kind in field.kinds


def _representation(fields: tuple[Field, ...], kind_of: Callable[[Any], str] | None) -> Represent:
    """Return the function that represents a model. What it needs of the declaration is looked up here, once."""
    if kind_of is None:
        return _function_of(fields)
    kinds = {kind for field in fields for kind in field.kinds}
    functions = {kind: _function_of([field for field in fields if _belongs(field, kind)]) for kind in kinds}

    of_other_kinds = _function_of([field for field in fields if not field.kinds])

    def represent(subject: Any) -> dict[str, Any]:
        return functions.get(kind_of(subject), of_other_kinds)(subject)

    return represent


def _function_of(fields: Iterable[Field]) -> Represent:
    """Compile the fields to one function without a loop, as `dataclasses` does: every payment calls it.

    For the box above it is `def represent(it): shown = {}; shown["id"] = it.pk; value = it.weight; …`.
    """
    names: dict[str, Any] = {}
    lines = ["def represent(it):", " shown = {}"]
    for number, field in enumerate(fields):
        get, convert, omitted = f"get_{number}", f"convert_{number}", f"omitted_{number}"
        names |= {get: field.value, convert: field.converter(), omitted: field.omit}
        value = f"{get}(it)" if callable(field.value) else f"it.{field.value or field.name}"
        converted = f"{convert}(value)" if names[convert] else "value"
        if field.is_nullable:
            converted += " if value is not None else None"
        condition = f"if value not in {omitted}: " if field.omit else ""
        lines += [f" value = {value}", f" {condition}shown[{field.name!r}] = {converted}"]
    exec("\n".join([*lines, " return shown"]), names)  # noqa: S102  (names and paths of declarations only)
    represent: Represent = names["represent"]
    return represent
