"""The fields of a schema as rows of a page, nested objects included.

>>> card = {"type": "object", "required": ["pan"], "properties": {"pan": {"type": "string", "description": "The number."}}}
>>> rows = field_rows({"$ref": "#/components/schemas/Card"}, {"Card": card})
>>> [(row.name, row.type, row.need, row.words) for row in rows]
[('pan', 'string', 'Required', 'The number.')]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from django.utils.safestring import SafeString

from developer_site.guides.guides import inline

Schema: TypeAlias = dict[str, Any]
Schemas: TypeAlias = Mapping[str, Schema]

FORMATS = {"uuid": "UUID", "date-time": "RFC 3339", "date": "date", "uri": "URL", "email": "email"}
PLURALS = {"object": "objects", "string": "strings", "integer": "integers", "boolean": "booleans"}
MOST_VALUES = 16  # of a list that is shown
DEEPEST = 5  # levels of nested objects
NOWHERE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class FieldRow:
    """A field, parameter or header. `path` is its dotted path in the whole object."""

    name: str
    path: str
    type: str
    need: str
    words: SafeString
    values: tuple[str, ...] = ()
    fields: tuple[FieldRow, ...] = ()
    form: str = ""  # the object that has a page of its own, instead of nested fields
    form_address: str = ""
    anchor: str = ""

    @property
    def is_required(self) -> bool:
        """Whether some request needs the field."""
        return self.need.startswith("Required")

    def within(self) -> Iterator[FieldRow]:
        """Yield this row and those of its nested objects."""
        yield self
        for row in self.fields:
            yield from row.within()


def field_rows(
    schema: Schema, schemas: Schemas, *, marks_required: bool = True, elsewhere: Mapping[str, str] = NOWHERE
) -> tuple[FieldRow, ...]:
    """Return the rows of an object, of the items of a list, or of a union of objects. Otherwise none.

    `marks_required` is false for responses, in which most fields are always present. `elsewhere` has the addresses of
    components whose fields are not repeated.
    """
    return tuple(_Reader(schemas, marks_required=marks_required, elsewhere=elsewhere).rows(schema))


def parameter_rows(
    parameters: Iterable[Schema], schemas: Schemas, *, marks_required: bool = True
) -> tuple[FieldRow, ...]:
    """Return the rows of the parameters of an operation."""
    reader = _Reader(schemas, marks_required=marks_required, elsewhere=NOWHERE)
    return tuple(
        reader.row(
            parameter["name"],
            parameter["schema"] | {"description": parameter.get("description", "")},
            need="Required" if marks_required and parameter.get("required") else "",
        )
        for parameter in parameters
    )


def with_anchors(rows: Iterable[FieldRow], prefix: str) -> tuple[FieldRow, ...]:
    """Return rows with an anchor for each path. Of rows with the same path, only the first has one."""
    return tuple(_anchored(rows, prefix, seen=set()))


def _anchored(rows: Iterable[FieldRow], prefix: str, *, seen: set[str]) -> Iterator[FieldRow]:
    for row in rows:
        anchor = "" if row.path in seen else f"{prefix}{row.path}"
        seen.add(row.path)
        yield replace(row, anchor=anchor, fields=tuple(_anchored(row.fields, prefix, seen=seen)))


def resolved(schema: Schema, schemas: Schemas) -> Schema:
    """Return a schema without its reference. What stands beside the reference takes precedence."""
    reference = schema.get("$ref", "")
    return {**schemas[reference.rpartition("/")[2]], **schema} if reference else schema


def component_name(schema: Schema) -> str:
    """Return the name of the component that a schema refers to, or an empty string."""
    return str(schema.get("$ref", "")).rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class _Reader:
    schemas: Schemas
    marks_required: bool
    elsewhere: Mapping[str, str]

    def rows(self, schema: Schema, path: str = "", depth: int = 0) -> Iterator[FieldRow]:
        if depth == DEEPEST:
            return
        schema = resolved(schema, self.schemas)
        members = [each for each in schema.get("oneOf", ()) if "$ref" in each]
        if "items" in schema:
            yield from self.rows(schema["items"], path, depth)
        elif len(members) > 1:
            yield from self._rows_of_union(members, path, depth)
        elif members:
            yield from self.rows(members[0], path, depth)
        else:
            required = schema.get("required", ()) if self.marks_required else ()
            for name, field in schema.get("properties", {}).items():
                yield self.row(name, field, "Required" if name in required else "", path, depth)

    def row(self, name: str, field: Schema, need: str, path: str = "", depth: int = 0) -> FieldRow:
        schema = resolved(field, self.schemas)
        full_path = f"{path}.{name}" if path else name
        form = self._form_elsewhere(field, schema)
        return FieldRow(
            name=name,
            path=full_path,
            type=self._type_of(schema),
            need=need,
            words=inline(
                _with_limits(str(field.get("description") or schema.get("description", "")), schema)
            ),
            values=self._values_of(schema, field.get("description", "")),
            fields=() if form else tuple(self.rows(field, full_path, depth + 1)),
            form=form,
            form_address=self.elsewhere.get(form, ""),
        )

    def _form_elsewhere(self, field: Schema, schema: Schema) -> str:
        names = (component_name(field), component_name(schema.get("items", {})))
        return next((name for name in names if name in self.elsewhere), "")

    def _rows_of_union(self, members: list[Schema], path: str, depth: int) -> Iterator[FieldRow]:
        """Yield the fields of all members: equal ones once, with the kinds of requests that they belong to."""
        fields: dict[tuple[str, str], tuple[Schema, list[str], list[str]]] = {}
        all_kinds = [kind_of_request(component_name(member)) for member in members]
        for member, kind in zip(members, all_kinds, strict=True):
            schema = resolved(member, self.schemas)
            for name, field in schema["properties"].items():
                key = (name, repr({part: field[part] for part in field if part not in ("enum", "examples")}))
                _, kinds, needed = fields.setdefault(key, (dict(field), [], []))
                kinds.append(kind)
                needed += [kind] if name in schema.get("required", ()) else []
        for (name, _), (field, kinds, needed) in fields.items():
            values = self._values_in_union(name, members) if "enum" in field else []
            shown = field | ({"enum": values} if values else {})
            yield self.row(name, shown, _need(kinds, needed, all_kinds), path, depth)

    def _values_in_union(self, name: str, members: list[Schema]) -> list[str]:
        """Return the values that a field has in any member."""
        found = [
            resolved(member, self.schemas)["properties"].get(name, {}).get("enum", ()) for member in members
        ]
        return list(dict.fromkeys(value for values in found for value in values))

    def _type_of(self, schema: Schema) -> str:
        """Return the type in words, such as `string` or `array of objects`."""
        if "oneOf" in schema:
            kinds = [self._type_of(resolved(each, self.schemas)) for each in schema["oneOf"]]
            return " or ".join(dict.fromkeys(kinds))
        kinds = schema.get("type", "object")
        kind = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
        if "items" in schema:
            item = self._type_of(resolved(schema["items"], self.schemas))
            return kind.replace("array", f"array of {PLURALS.get(item, item)}")
        known = FORMATS.get(schema.get("format", ""))
        return kind.replace("string", f"string, {known}") if known else kind

    def _values_of(self, schema: Schema, words: str) -> tuple[str, ...]:
        """Return the values of a list, unless the words name them."""
        inner = [resolved(each, self.schemas) for each in schema.get("oneOf", ())]
        listed = [each.get("enum", each.get("x-extensible-enum", ())) for each in [schema, *inner]]
        values = [str(value) for each in listed for value in each if value is not None]
        if len(values) > MOST_VALUES or all(f"`{value}`" in words for value in values):
            return ()
        return tuple(values)


def kind_of_request(name: str) -> str:
    """Return what a request is called in a sentence.

    >>> kind_of_request("VirtualAccountPaymentRequest")
    'virtual account payments'
    """
    words = "".join(
        f" {letter.lower()}" if letter.isupper() else letter for letter in name.removesuffix("Request")
    )
    return f"{words.strip()}s"


def _need(kinds: list[str], needed: list[str], all_kinds: list[str]) -> str:
    """Return which requests of a union need a field, or have it.

    >>> _need(["card payments", "payouts"], ["payouts"], ["card payments", "payouts", "card checks"])
    'Required for payouts; optional for card payments'
    >>> _need(["card payments", "payouts"], [], ["card payments", "payouts", "card checks"])
    'Except for card checks'
    """
    if needed == all_kinds:
        return "Required"
    optional = [kind for kind in kinds if kind not in needed]
    if needed and optional:
        return f"Required for {_listed(needed)}; optional for {_listed(optional)}"
    others = [kind for kind in all_kinds if kind not in kinds]
    if 0 < len(others) < len(kinds):
        words = f"except for {_listed(others)}"
    else:
        words = f"for {_listed(kinds)}" if others else ""
    return f"Required {words}" if needed else words.capitalize()


def _listed(names: list[str]) -> str:
    """Return names as a list in a sentence.

    >>> _listed(["cards", "payouts", "links"])
    'cards, payouts and links'
    """
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _with_limits(words: str, schema: Schema) -> str:
    """Return the words of a field with the limits of its size, unless they say it.

    >>> _with_limits("Free text.", {"type": "string", "maxLength": 255})
    'Free text. Up to 255 characters.'
    """
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if most is None or str(most) in words:
        return words
    size = f"{least} to {most:,} characters." if least > 1 else f"Up to {most:,} characters."
    return f"{words} {size}".strip()
