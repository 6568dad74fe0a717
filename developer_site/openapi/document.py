"""How the API is described, OpenAPI 3.1: `make openapi` prints the document.

Requests come from the serializers (`developer_site.openapi.request_fields`), answers from the apps' declarations (`kit.api.fields.answer_fields`).
`developer_site.openapi.operations` lists the operations, whose summaries and descriptions are the docstrings of the views' methods.
"""

import inspect
from base64 import b64encode
from collections.abc import Iterable
from typing import Any, TypeAlias, cast

from drf_spectacular.drainage import warn
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry

from config.errors.error_codes import ERROR_CODES
from config.errors.problems import CONTENT_TYPE
from developer_site.openapi import enumerations
from developer_site.openapi.answer_schemas import PROBLEM, components, headers
from developer_site.openapi.descriptions import INTRODUCTION, sandbox_tables
from developer_site.openapi.operations import (
    EVERYWHERE,
    OF_LOOKUPS,
    OF_SIGNED_CALLS,
    OF_WRITES,
    OPERATIONS,
    TAGS,
    UNDESCRIBED,
    Body,
    Operation,
    Success,
)
from developer_site.openapi.request_fields import described, field_schema
from developer_site.openapi.webhooks import KINDS, event_schemas, webhooks
from kit.api.fields.answer_fields import Answer, Union
from kit.api.fields.strict_fields import UUID, Reference, StrictField
from kit.api.pagination import NewestFirst
from webhooks.listeners.listener_serializers import ListenerName

Schema: TypeAlias = dict[str, Any]

# The parts of a signed call, as security schemes: each name, its header, and what it holds.
SIGNATURE_PARTS = {
    "ApiKey": ("X-Api-Key", "The public id of your key pair, `pk_…`."),
    "Timestamp": ("X-Timestamp", "Unix seconds, within 300 seconds of the server's clock."),
    "Nonce": ("X-Nonce", "16 to 128 characters of `A-Z a-z 0-9 - _`, used once per key."),
    "Signature": ("X-Signature", "Hex HMAC-SHA256 of the string to sign, keyed with your secret key."),
}

# What a path may name: how it is written, what it means, and an example.
PATH_PARAMETERS: dict[str, tuple[StrictField, str, str]] = {
    "reference": (Reference(), "Your reference.", Reference.EXAMPLE),
    "event_id": (UUID(), "The `event_id` of the event.", UUID.EXAMPLE),
    "name": (ListenerName(), "The name of the listener.", ListenerName.EXAMPLE),
    "exam_id": (UUID(), "The `id` of the exam.", UUID.EXAMPLE),
    "id": (UUID(), "Our identifier.", UUID.EXAMPLE),
}


class SluiceSchema(AutoSchema):
    """Describes an operation from the table of operations; warns of one that is not in it."""

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: ComponentRegistry
    ) -> Schema | None:
        self.registry, self.path, self.path_regex = registry, path, path_regex
        self.path_prefix, self.method = path_prefix, method
        if (type(self.view), method) in UNDESCRIBED:
            return None
        operation = OPERATIONS.get((type(self.view), method))
        if operation is None:
            warn(f"developer_site.openapi.operations does not describe {method} {path}.")
            return None
        return {
            "operationId": operation.id,
            "tags": [operation.tag],
            **self._texts(operation),
            "parameters": list(self._parameters(operation)),
            **({"requestBody": self._request_body(operation.body)} if operation.body else {}),
            "responses": dict(self._answers(operation)),
            "security": self.get_auth(),
        }

    def _texts(self, operation: Operation) -> Schema:
        """Return the summary and the description: the docstring of the view's method, notes and sandbox tables."""
        docstring = inspect.getdoc(getattr(self.view, self.method.lower())) or ""
        summary, _, text = docstring.partition("\n")
        parts = (text.strip(), operation.note, *sandbox_tables(*operation.tables))
        description = "\n\n".join(part for part in parts if part)
        return {"summary": summary.removesuffix(".")} | ({"description": description} if description else {})

    def _parameters(self, operation: Operation) -> Iterable[Schema]:
        for name, (field, words, example) in PATH_PARAMETERS.items():
            if f"{{{name}}}" in self.path:
                shown = operation.reference if name == "reference" else example
                yield _parameter("path", name, field_schema(field), words, example=shown)
        if operation.filters:
            filters = operation.filters()
            schemas = {name: field_schema(cast("StrictField", f)) for name, f in filters.fields.items()}
            for name, schema in described(filters, schemas).items():
                words, (example, *_) = schema.pop("description", ""), schema.pop("examples", [""])
                yield _parameter("query", name, schema, words, example=example)
        if operation.is_list:
            yield from _paging()
        for name, words in operation.headers.items():
            yield _parameter(
                "header", name, {"type": "string", "maxLength": 255}, words, example='"b1946ac92492d234"'
            )

    def _request_body(self, body: Body) -> Schema:
        serializer = body.serializer
        if not isinstance(serializer, type):
            serializer = serializer()
        component = self.resolve_serializer(serializer, "request")
        content = {"schema": component.ref, "examples": body.examples}
        return {"required": body.required, "content": {"application/json": content}}

    def _answers(self, operation: Operation) -> Iterable[tuple[str, Schema]]:
        for status, answer in operation.answers.items():
            yield str(status), _answer(answer, is_open=operation.is_open)
        codes = {*EVERYWHERE, *operation.problems}
        codes |= set() if operation.is_open else {*OF_SIGNED_CALLS}
        codes |= {*OF_WRITES} if operation.body else set()
        codes |= {*OF_LOOKUPS} if "{" in self.path else set()
        for status in sorted({ERROR_CODES[code].status for code in codes}):
            here = [code for code in ERROR_CODES if code in codes and ERROR_CODES[code].status == status]
            yield str(status), _problems(status, here)


class SignedRequestScheme(OpenApiAuthenticationExtension):
    target_class = "merchants.api.authentication.SignedRequest"
    name = list(SIGNATURE_PARTS)  # all of them at once

    def get_security_definition(self, auto_schema: AutoSchema) -> list[Schema]:
        return [
            {"type": "apiKey", "in": "header", "name": header, "description": words}
            for header, words in SIGNATURE_PARTS.values()
        ]


def complete(result: Schema, **_options: Any) -> Schema:
    """Add what the operations refer to, and the words of the first page. drf-spectacular calls this."""
    result["info"]["description"] = INTRODUCTION
    result["tags"] = TAGS
    result["webhooks"] = webhooks()
    for kind, added in components(_answers_of_all()).items():
        result["components"].setdefault(kind, {}).update(added)
    result["components"]["schemas"] |= event_schemas()
    result = enumerations.refer(result)
    result["components"]["schemas"] |= enumerations.schemas()
    return result


def _answers_of_all() -> Iterable[Answer | Union]:
    """Yield the bodies of all operations, and the data of all webhooks."""
    for operation in OPERATIONS.values():
        yield from (answer.body for answer in operation.answers.values() if answer.body)
    yield from (data for data, *_ in KINDS.values())


def _parameter(where: str, name: str, schema: Schema, words: str, *, example: Any) -> Schema:
    return {
        "in": where,
        "name": name,
        "description": words,
        "schema": schema,
        **({"required": True} if where == "path" else {}),
        "example": example,
    }


# After the payment of the other examples: "p=" and its id, as rest_framework's paginator encodes it.
CURSOR = b64encode(f"p={UUID.EXAMPLE}".encode()).decode()


def _paging() -> Iterable[Schema]:
    sizes = {"minimum": 1, "maximum": NewestFirst.max_page_size, "default": NewestFirst.page_size}
    yield _parameter(
        "query",
        "limit",
        {"type": "integer", **sizes},
        "How many of them a page holds.",
        example=NewestFirst.page_size,
    )
    words = "Where a page begins: from `next` or `previous`, as it is."
    cursor = {"type": "string", "maxLength": 255}
    yield _parameter("query", "cursor", cursor, words, example=CURSOR)


def _answer(answer: Success, *, is_open: bool) -> Schema:
    limits = () if is_open else ("RateLimit-Policy", "RateLimit")
    shown: Schema = {
        "description": answer.description,
        "headers": headers(*limits, *answer.headers),
    }
    if answer.body is None:
        return shown
    content = {"schema": answer.body.reference, "examples": answer.examples}
    return shown | {"content": {"application/json": content}}


CONFLICT = {"$ref": "#/components/schemas/Conflict"}
# Headers that a status always comes with.
PROBLEM_HEADERS = {401: ("WWW-Authenticate",), 429: ("Retry-After", "RateLimit-Policy", "RateLimit")}


def _problems(status: int, codes: list[str]) -> Schema:
    lines = [f"- `{code}`: {ERROR_CODES[code].title}" for code in codes]
    examples = {code: {"$ref": f"#/components/examples/{code}"} for code in codes}
    schema = CONFLICT if "duplicate_reference" in codes else PROBLEM.reference
    content = {"schema": schema, "examples": examples}
    return {
        "description": "\n".join(lines),
        "headers": headers(*PROBLEM_HEADERS.get(status, ())),
        "content": {CONTENT_TYPE: content},
    }
