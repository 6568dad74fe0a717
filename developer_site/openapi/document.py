"""How the API is described, OpenAPI 3.1: `make openapi` prints the document.

drf-spectacular reads the views (`kit.api.operations`), the requests and the answers; `developer_site.openapi.schema` has
its extensions. Here is added what no single view says: problems, examples, headers, webhooks and the introduction.
"""

from functools import lru_cache
from threading import Lock
from typing import Any, TypeAlias

from django.conf import settings
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.plumbing import ComponentRegistry

from config.errors.error_codes import ERROR_CODES
from config.errors.problems import CONTENT_TYPE
from developer_site.openapi import enumerations, examples
from developer_site.openapi.answer_schemas import PROBLEM, components
from developer_site.openapi.descriptions import INTRODUCTION, TAGS, sandbox_tables
from developer_site.openapi.schema import describe_parameter, headers
from developer_site.openapi.webhooks import event_schemas, webhooks
from merchants.api.rate_limits import SANDBOX_PATHS

Schema: TypeAlias = dict[str, Any]

EVERYWHERE = (
    "invalid_request", "unknown_field", "not_acceptable", "length_required", "body_too_large", "uri_too_long",
    "headers_too_large", "unsupported_media_type", "internal_error", "temporarily_unavailable",
)  # fmt: skip
OF_SIGNED_CALLS = (
    "missing_header", "malformed_header", "unknown_key", "timestamp_out_of_range", "invalid_signature",
    "nonce_reused", "rate_limited",
)  # fmt: skip
OF_WRITES = ("malformed_json", "key_may_not_write")
OF_LOOKUPS = ("not_found",)  # by something in the path
OF_SANDBOX = ("sandbox_only",)

CONFLICT = {"$ref": "#/components/schemas/Conflict"}
URL_CONFLICT = {"$ref": "#/components/schemas/UrlConflict"}
# Headers that a status always comes with.
PROBLEM_HEADERS = {401: ("WWW-Authenticate",), 429: ("Retry-After", "RateLimit-Policy", "RateLimit")}


def document() -> dict[str, Any]:
    """Return the OpenAPI 3.1 document, generated once per process. Callers must not change it."""
    with _ONE_THREAD:
        return _generate()


_ONE_THREAD = Lock()  # drf-spectacular fails if two threads load its extensions


@lru_cache(maxsize=1)
def _generate() -> dict[str, Any]:
    generated: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return generated


def complete(result: Schema, generator: SchemaGenerator, **_options: Any) -> Schema:
    """Add what all operations have in common, and what they refer to. drf-spectacular calls this."""
    for path, operations in result["paths"].items():
        for operation in operations.values():
            for parameter in operation.setdefault("parameters", []):
                describe_parameter(parameter, path)
            _add_headers(operation)
            _add_examples(operation, generator.registry)
            _add_problems(operation, path)
            text = (operation.get("description"), *sandbox_tables(operation["operationId"]))
            operation["description"] = "\n\n".join(filter(None, text))
    result["info"]["description"] = INTRODUCTION
    result["tags"] = TAGS
    result["webhooks"] = webhooks()
    for kind, added in components().items():
        result["components"].setdefault(kind, {}).update(added)
    result["components"]["schemas"] |= event_schemas()
    result = enumerations.refer(result)
    result["components"]["schemas"] |= enumerations.schemas()
    return result


def _add_headers(operation: Schema) -> None:
    limits = ("RateLimit-Policy", "RateLimit") if operation.get("security") else ()
    for status, names in operation.pop("x-headers").items():
        operation["responses"][status]["headers"] = headers(*limits, *names)


def _add_examples(operation: Schema, registry: ComponentRegistry) -> None:
    """Add the examples of bodies, and say whether a request needs a body."""
    body = operation.get("requestBody")
    if body and "application/json" not in body["content"]:
        body["required"] = True  # a file, of which there is no example
        _limit_files(body["content"])
    elif body:
        (content,) = body["content"].values()
        name = _component(content)
        content["examples"] = examples.of_request(name)
        conditions = {"oneOf", "if"} & registry[name, "schemas"].schema.keys()
        body.setdefault("required", bool(conditions))  # drf-spectacular sees fields that are always required
    for status, answer in operation["responses"].items():
        for media_type, content in answer.get("content", {}).items():
            if media_type != "application/json":
                _limit_files(answer["content"])
                continue
            shown = registry[_component(content), "schemas"].object
            content["examples"] = examples.of_response(operation["operationId"], status, shown)


def _limit_files(content: Schema) -> None:
    for each in content.values():
        each["schema"] = each["schema"] | {"maxLength": settings.MAX_FILE_BYTES}


def _component(content: Schema) -> str:
    return str(content["schema"]["$ref"]).rpartition("/")[2]


def _add_problems(operation: Schema, path: str) -> None:
    codes = {*EVERYWHERE, *operation.pop("x-problems")}
    codes |= {*OF_SIGNED_CALLS} if operation.setdefault("security", []) else set()
    codes |= {*OF_WRITES} if "requestBody" in operation else set()
    codes |= {*OF_LOOKUPS} if "{" in path else set()
    codes |= {*OF_SANDBOX} if path.startswith(SANDBOX_PATHS) else set()
    for status in sorted({ERROR_CODES[code].status for code in codes}):
        here = [code for code in ERROR_CODES if code in codes and ERROR_CODES[code].status == status]
        operation["responses"][str(status)] = _problems(status, here)


def _problems(status: int, codes: list[str]) -> Schema:
    lines = [f"- `{code}`: {ERROR_CODES[code].title}" for code in codes]
    shown = {code: {"$ref": f"#/components/examples/{code}"} for code in codes}
    schema = (
        CONFLICT
        if "duplicate_reference" in codes
        else URL_CONFLICT
        if "url_taken" in codes
        else PROBLEM.reference
    )
    return {
        "description": "\n".join(lines),
        "headers": headers(*PROBLEM_HEADERS.get(status, ())),
        "content": {CONTENT_TYPE: {"schema": schema, "examples": shown}},
    }
