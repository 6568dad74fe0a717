"""The pages of the API reference, made of the OpenAPI document: operations, events and large objects.

A page is made once per process. It holds HTML that is escaped already, and rows for the template.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from http import HTTPStatus
from typing import Any, TypeAlias

from django.urls import reverse
from django.utils.safestring import SafeString

from config.errors.error_codes import ERROR_CODES
from developer_site.guides.guides import inline, page
from developer_site.openapi.document import EVERYWHERE, OF_SIGNED_CALLS, OF_WRITES, document
from developer_site.reference.fields import (
    FieldRow,
    Schema,
    component_name,
    field_rows,
    parameter_rows,
    with_anchors,
)

WEBHOOKS, ERRORS = "Webhooks", "Errors"
ERROR_EXAMPLES = ("invalid_request", "duplicate_reference", "invalid_signature", "timestamp_out_of_range")
OF_MOST_CALLS = frozenset({*EVERYWHERE, *OF_SIGNED_CALLS, *OF_WRITES} - {"invalid_request", "unknown_field"})
USUAL_HEADERS = frozenset({"X-Request-Id", "RateLimit-Policy", "RateLimit"})
SANDBOX_TABLE = re.compile(
    r"^\*\*[^*]+\*\* \(sandbox\)", re.MULTILINE
)  # from here on, a description has tables
PLACES = {"path": "Path", "query": "Query", "header": "Headers"}
MOST_ROWS = 24  # an object with more fields, nested ones included, has a page of its own

Examples: TypeAlias = Mapping[str, Schema]  # by name: summary and value


class Kind(StrEnum):
    OPERATION = "operation"
    EVENT = "event"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class FieldGroup:
    """A titled list of fields. `prefix` begins the anchors of its rows."""

    title: str
    prefix: str
    rows: tuple[FieldRow, ...]

    @classmethod
    def of(cls, title: str, prefix: str, rows: Iterable[FieldRow]) -> FieldGroup:
        return cls(title, prefix, with_anchors(rows, prefix))


@dataclass(frozen=True, slots=True)
class Success:
    """A successful response. `form` is the name of its object."""

    status: int
    form: str
    words: SafeString
    headers: tuple[str, ...]
    examples: Examples

    @property
    def form_address(self) -> str:
        """Where the fields of the object are listed."""
        return large_objects().get(self.form, "#response")


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """An error that an operation can return."""

    status: int
    code: str
    title: str
    example: Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencePage:
    """A page about an operation of the API, an event that the service sends, or an object that operations return."""

    kind: Kind
    slug: str
    group: str
    title: str
    summary: str
    text: SafeString
    groups: tuple[FieldGroup, ...]  # of the request, the event or the object
    examples: Examples  # of the request's body, the event or the object
    method: str = ""
    path: str = ""  # with names in braces
    target: str = ""  # the path of an example
    has_sandbox_outcomes: bool = False
    successes: tuple[Success, ...] = ()
    response_fields: FieldGroup | None = None
    errors: tuple[ErrorCode, ...] = ()

    @property
    def address(self) -> str:
        return reverse("api-docs-page", args=[self.slug])

    @property
    def own_errors(self) -> list[ErrorCode]:
        return [error for error in self.errors if error.code not in OF_MOST_CALLS]

    @property
    def common_errors(self) -> list[ErrorCode]:
        """Errors that most operations can return."""
        return [error for error in self.errors if error.code in OF_MOST_CALLS]

    def rows(self) -> Iterator[FieldRow]:
        """Yield every field of the page."""
        for group in (*self.groups, *([self.response_fields] if self.response_fields else [])):
            for row in group.rows:
                yield from row.within()


@dataclass(frozen=True, slots=True)
class Group:
    """The pages about one kind of object."""

    title: str
    words: SafeString
    pages: tuple[ReferencePage, ...]


@lru_cache(maxsize=1)
def groups() -> tuple[Group, ...]:
    """Return all pages, grouped and ordered as the document's tags. Errors are last."""
    tags = {tag["name"]: tag["description"] for tag in document()["tags"]}
    found = tags | {ERRORS: "What the API returns instead of a result."}
    return tuple(
        Group(name, inline(words), tuple(each for each in pages().values() if each.group == name))
        for name, words in found.items()
    )


@lru_cache(maxsize=1)
def pages() -> dict[str, ReferencePage]:
    """Return all pages by their slugs: operations in the order of their tags and URLs, events, objects."""
    described = document()
    operations = [
        _page_of(path, method, operations[method])
        for path, operations in described["paths"].items()
        for method in sorted(operations, key=lambda name: name != "post")  # creating comes before listing
    ]
    operations.sort(key=lambda each: [tag["name"] for tag in described["tags"]].index(each.group))
    events = [_page_of_event(name, methods["post"]) for name, methods in described["webhooks"].items()]
    return {
        each.slug: each for each in (*operations, *events, *_pages_of_objects(operations), _page_of_errors())
    }


def pages_with_error(code: str) -> list[ReferencePage]:
    """Return the operations that can return an error, unless most can."""
    if code in OF_MOST_CALLS:
        return []
    return [each for each in pages().values() if any(error.code == code for error in each.errors)]


def slug_of(name: str) -> str:
    """Return the last part of the address of a page.

    >>> slug_of("createPayment"), slug_of("PaymentLink")
    ('create-payment', 'payment-link')
    """
    return re.sub("(?<!^)([A-Z])", r"-\1", name).lower()


@lru_cache(maxsize=1)
def large_objects() -> Mapping[str, str]:
    """Return the addresses of the objects in responses and events that have pages of their own, by name."""
    return {
        name: reverse("api-docs-page", args=[_slug_of_object(name)])
        for name in sorted(_returned_forms())
        if not name.endswith("List") and _size(name) > MOST_ROWS
    }


def _returned_forms() -> set[str]:
    """Return the names of the objects that operations return. One that is only in lists is described there."""
    responses = [
        response
        for methods in document()["paths"].values()
        for operation in methods.values()
        for status, response in operation["responses"].items()
        if int(status) < HTTPStatus.BAD_REQUEST
    ]
    return {component_name(_content(response).get("schema", {})) for response in responses} - {""}


def _slug_of_object(form: str) -> str:
    return f"{slug_of(form)}-object"


def _size(form: str) -> int:
    rows = field_rows({"$ref": f"#/components/schemas/{form}"}, document()["components"]["schemas"])
    return sum(1 for row in rows for _ in row.within())


# Operations ------------------------------------------------------------------------------------------


def _page_of(path: str, method: str, operation: Schema) -> ReferencePage:
    text, has_sandbox_outcomes = _text_of(operation.get("description", ""))
    responses = {int(status): response for status, response in operation["responses"].items()}
    successes = {status: each for status, each in responses.items() if status < HTTPStatus.BAD_REQUEST}
    return ReferencePage(
        kind=Kind.OPERATION,
        slug=slug_of(operation["operationId"]),
        group=operation["tags"][0],
        title=operation["summary"],
        summary=f"{method.upper()} {path}",
        method=method.upper(),
        path=path,
        target=_target(path, operation),
        text=page(text, file="").html,
        has_sandbox_outcomes=has_sandbox_outcomes,
        groups=(*_parameters(operation), *_body(operation)),
        examples=_content(operation.get("requestBody", {})).get("examples", {}),
        successes=tuple(_success(status, response) for status, response in successes.items()),
        response_fields=_response_fields(successes.values()),
        errors=tuple(_errors(responses)),
    )


def _text_of(description: str) -> tuple[str, bool]:
    """Return a description without the tables of the sandbox, and whether it has some."""
    table = SANDBOX_TABLE.search(description)
    return (description[: table.start()], True) if table else (description, False)


def _target(path: str, operation: Schema) -> str:
    """Return a path with the examples of its parameters."""
    named = {each["name"]: each["example"] for each in operation["parameters"] if each["in"] == "path"}
    return re.sub(r"\{(\w+)\}", lambda found: str(named.get(found[1], found[0])), path)


def _content(described: Schema) -> Schema:
    """Return the only content of a body or response, or nothing."""
    content: dict[str, Any] = described.get("content", {})
    return next(iter(content.values()), {})


def _parameters(operation: Schema, *, marks_required: bool = True) -> Iterator[FieldGroup]:
    schemas = document()["components"]["schemas"]
    for place, title in PLACES.items():
        found = [each for each in operation.get("parameters", ()) if each["in"] == place]
        if found:
            yield FieldGroup.of(
                title, f"{place}-", parameter_rows(found, schemas, marks_required=marks_required)
            )


def _body(operation: Schema, *, marks_required: bool = True) -> Iterator[FieldGroup]:
    schema = _content(operation.get("requestBody", {})).get("schema")
    rows = _rows(schema, marks_required=marks_required) if schema else ()
    if rows:
        yield FieldGroup.of("Body", "body-", rows)


def _rows(schema: Schema, *, marks_required: bool = False) -> tuple[FieldRow, ...]:
    schemas = document()["components"]["schemas"]
    return field_rows(schema, schemas, marks_required=marks_required, elsewhere=large_objects())


def _success(status: int, response: Schema) -> Success:
    content = _content(response)
    return Success(
        status=status,
        form=component_name(content.get("schema", {})),
        words=inline(response["description"]),
        headers=tuple(name for name in response.get("headers", {}) if name not in USUAL_HEADERS),
        examples=content.get("examples", {}),
    )


def _response_fields(successes: Iterable[Schema]) -> FieldGroup | None:
    """Return the fields of the first response that has a body, unless its object has a page of its own."""
    for response in successes:
        schema = _content(response).get("schema")
        if schema and component_name(schema) not in large_objects():
            return FieldGroup.of(component_name(schema), "response-", _rows(schema))
    return None


def _errors(responses: Mapping[int, Schema]) -> Iterator[ErrorCode]:
    examples = document()["components"]["examples"]
    for status, response in responses.items():
        if status >= HTTPStatus.BAD_REQUEST:
            for code in _content(response)["examples"]:
                yield ErrorCode(status, code, ERROR_CODES[code].title, examples[code]["value"])


# Events and objects ----------------------------------------------------------------------------------


def _page_of_event(name: str, operation: Schema) -> ReferencePage:
    return ReferencePage(
        kind=Kind.EVENT,
        slug=name,
        group=WEBHOOKS,
        title=name,
        summary=operation["summary"],
        text=page(f"{operation['summary']} {operation['description']}", file="").html,
        groups=(*_parameters(operation, marks_required=False), *_body(operation, marks_required=False)),
        examples=_content(operation["requestBody"])["examples"],
    )


def _pages_of_objects(operations: Iterable[ReferencePage]) -> Iterator[ReferencePage]:
    """Yield a page for each large object, in the group of the first operation that returns it."""
    seen: set[str] = set()
    for operation in operations:
        for success in operation.successes:
            if success.form in large_objects().keys() - seen:
                seen.add(success.form)
                yield _page_of_object(success, operation.group)


def _page_of_object(success: Success, group: str) -> ReferencePage:
    schema = document()["components"]["schemas"][success.form]
    name = slug_of(success.form).replace("-", " ")
    return ReferencePage(
        kind=Kind.OBJECT,
        slug=_slug_of_object(success.form),
        group=group,
        title=f"{name.capitalize()} object",
        summary=schema["description"],
        text=page(schema["description"], file="").html,
        groups=(FieldGroup.of("Fields", "field-", _rows(schema)),),
        examples=success.examples,
    )


def _page_of_errors() -> ReferencePage:
    """Return the page about the object that describes an error, with the field of conflicts."""
    components = document()["components"]
    problem, conflict = components["schemas"]["Problem"], components["schemas"]["DuplicateReference"]
    existing = {"existing": conflict["properties"]["existing"]}
    rows = _rows({"type": "object", "properties": problem["properties"] | existing})
    return ReferencePage(
        kind=Kind.OBJECT,
        slug="error-object",
        group=ERRORS,
        title="Error object",
        summary=problem["description"],
        text=page(f"{problem['description']} [Each code](/docs/errors/) has a page.", file="").html,
        groups=(FieldGroup.of("Fields", "field-", rows),),
        examples={code: components["examples"][code] for code in ERROR_EXAMPLES},
    )
