"""What drf-spectacular must be told about our views, requests and answers, through its own extension points.

Each method of a view says the rest with `kit.api.operations.operation`.
"""

import inspect
from typing import Any, TypeAlias

from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerExtension,
    OpenApiSerializerFieldExtension,
)
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction

from kit.api.fields.answer_fields import Answer, Union
from kit.api.fields.strict_fields import UUID, Items, Reference, RequestSerializer, StrictField
from webhooks.listeners.listener_serializers import ListenerName

Schema: TypeAlias = dict[str, Any]

# The parts of a signed call, as security schemes: each name, its header, and what it holds.
SIGNATURE_PARTS = {
    "ApiKey": ("X-Api-Key", "The public id of your key pair, `pk_…`."),
    "Timestamp": ("X-Timestamp", "Unix seconds, within 300 seconds of the server's clock."),
    "Nonce": ("X-Nonce", "16 to 128 characters of `A-Z a-z 0-9 - _`, used once per key."),
    "Signature": ("X-Signature", "Hex HMAC-SHA256 of the string to sign, keyed with your secret key."),
}
# What a path may name.
PATH_PARAMETERS: dict[str, StrictField] = {
    "reference": Reference(help_text="Your reference."),
    "event_id": UUID(help_text="The `event_id` of the event."),
    "name": ListenerName(help_text="The name of the listener."),
    "exam_id": UUID(help_text="The `id` of the exam."),
    "id": UUID(help_text="Our identifier."),
    "item": UUID(help_text="The `id` of the item."),
}
# Examples of references, by what a path begins with. Others are of the payment of most examples.
REFERENCES = {
    "/api/payments/{reference}/checkout": "pl_01980a5eb3707c008000000000000008",
    "/api/payment-links": "workshop-may",
    "/api/refunds": "refund-9",
    "/api/virtual-accounts": "customer-7",
}
FIRST = ("request_type", "payment_method")  # they decide what the other fields of a request are


class SluiceSchema(AutoSchema):
    """Describes an operation: its texts from the docstring, its tag from the path."""

    def get_summary(self) -> str:
        return self._docstring()[0].removesuffix(".")

    def get_description(self) -> str:  # type: ignore[override]
        return self._docstring()[2].strip()

    def _docstring(self) -> tuple[str, str, str]:
        return (inspect.getdoc(getattr(self.view, self.method.lower())) or "").partition("\n")

    def get_tags(self) -> list[str]:
        return [self.path.split("/")[2].replace("-", " ").capitalize()]


def describe_parameter(parameter: Schema, path: str) -> None:
    """Say what a parameter is like. Meaning and example stand beside the schema, not in it."""
    schema = parameter["schema"]
    if parameter["in"] == "path":
        field = PATH_PARAMETERS[parameter["name"]]
        schema = field.json_schema() | {"description": field.help_text, "examples": [_example(field, path)]}
    parameter["example"] = schema["examples"][0]
    parameter.setdefault("description", schema.get("description", ""))
    parameter["schema"] = {
        name: value for name, value in schema.items() if name not in ("description", "examples")
    }


def _example(field: StrictField, path: str) -> Any:
    """Return the example of something that a path names."""
    of_path = (example for start, example in REFERENCES.items() if path.startswith(start))
    return next(of_path, field.example) if isinstance(field, Reference) else field.example


def headers(*names: str) -> Schema:
    """Return the headers of an answer: those that every answer has, and these."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in ("X-Request-Id", *names)}


class SignedRequestScheme(OpenApiAuthenticationExtension):
    target_class = "merchants.api.authentication.SignedRequest"
    name = list(SIGNATURE_PARTS)  # all of them at once

    def get_security_definition(self, auto_schema: AutoSchema) -> list[Schema]:
        return [
            {"type": "apiKey", "in": "header", "name": header, "description": words}
            for header, words in SIGNATURE_PARTS.values()
        ]


class AnswerSchema(OpenApiSerializerExtension):
    target_class: type[Answer | Union] = Answer

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        return str(self.target.name)

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        for each in self.target.within():
            auto_schema.resolve_serializer(each, direction)
        schema: Schema = self.target.schema()
        return schema


class UnionSchema(AnswerSchema):
    target_class = Union


class StrictFieldSchema(OpenApiSerializerFieldExtension):
    target_class = StrictField
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        field: StrictField = self.target
        schema = field.json_schema()
        if isinstance(field, Items) and isinstance(field.item, RequestSerializer):
            # In place, because each is used by one field only.
            schema["items"] = auto_schema._map_serializer(field.item, direction)  # noqa: SLF001
            del schema["items"]["description"]
        return schema | ({} if field.example is None else {"examples": [field.example]})


class RequestSchema(OpenApiSerializerExtension):
    """An object of a request: closed, because unknown fields are refused."""

    target_class = RequestSerializer
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        schema: Schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)  # noqa: SLF001
        properties, required = schema.get("properties", {}), schema.get("required", [])
        first = {*FIRST} & {*required}
        for each in properties.values():
            # Generators take a field with a default for one that is always sent. Its words say what absence means.
            each.pop("default", None)
            # OpenAPI 3.1 needs no wrapping of a described reference.
            each |= each.pop("allOf", [{}])[0]  # noqa: PLW2901
        # As one reads them: what decides, what must be there, what may be.
        ordered = sorted(properties, key=lambda field: (field not in first, field not in required))
        schema["properties"] = {field: properties[field] for field in ordered}
        closed: Schema = schema | {"additionalProperties": False} | self.target.conditions
        return closed
