"""How a view describes a method as an operation of the API, on top of drf-spectacular's `extend_schema`.

Summary and description are the method's docstring. What all operations have in common is added in
`developer_site.openapi`.

    class BoxView(APIView):
        @operation("getBox", ok(BOX, "The box's current state."))
        def get(self, request: Request, reference: str) -> Response:
            ...
"""

from base64 import b64encode
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    PolymorphicProxySerializer,
    extend_schema,
)

from kit.api.fields.answer_fields import Answer, Union
from kit.api.fields.strict_fields import UUID, RequestSerializer
from kit.api.pagination import NewestFirst

# Of a list. The cursor is "p=" and the id of the payment of other examples, as rest_framework's paginator encodes it.
PAGES = (
    OpenApiParameter(
        "limit",
        {
            "type": "integer",
            "minimum": 1,
            "maximum": NewestFirst.max_page_size,
            "default": NewestFirst.page_size,
            "examples": [NewestFirst.page_size],
        },
        description="How many of them a page holds.",
    ),
    OpenApiParameter(
        "cursor",
        {
            "type": "string",
            "maxLength": 255,
            "examples": [b64encode(f"p={UUID.EXAMPLE}".encode()).decode()],
        },
        description="Where a page begins: from `next` or `previous`, as it is.",
    ),
)

Method: TypeAlias = Callable[..., Any]
# By status, or by status and media type if the body isn't JSON.
Responses: TypeAlias = dict[int | tuple[int, str], "Success"]

AGAIN = "The reference was used before: the resource's current state. Nothing was executed again."


class Success(OpenApiResponse):
    """A success: what its body shows, its words, and its headers beside those of every response."""

    def __init__(self, body: Answer | Union | OpenApiTypes | None, text: str, *headers: str) -> None:
        super().__init__(body, text)
        self.headers = headers


def ok(body: Answer | Union, text: str, *headers: str) -> Responses:
    return {200: Success(body, text, *headers)}


def done(body: Answer, text: str) -> Responses:
    """Return the responses of an operation that changes something once."""
    return ok(body, text, "Idempotent-Replayed")


def created(body: Answer, text: str = "Created.", *headers: str) -> Responses:
    """Return the responses of an operation that creates a resource, or returns it if its reference was used before."""
    return {201: Success(body, text, *headers)} | done(body, AGAIN)


def page(body: Answer) -> Responses:
    return ok(body, "A page, newest first.")


def any_of(name: str, *members: type[RequestSerializer]) -> PolymorphicProxySerializer:
    """Return a flat union of requests without a discriminator: two members can have the same value in one field.

    The fields that have only one value, or that only one member has and requires, tell the members apart.
    """
    return PolymorphicProxySerializer(component_name=name, resource_type_field_name=None, serializers=members)


def operation(
    name: str,
    responses: Responses,
    request: type[RequestSerializer] | PolymorphicProxySerializer | dict[str, OpenApiTypes] | None = None,
    *,
    problems: str = "",
    filters: type[RequestSerializer] | None = None,
    parameters: Iterable[OpenApiParameter] = (),
    **described: Any,
) -> Callable[[Method], Method]:
    """Describe a method of a view.

    `problems` names the error codes beside those of every operation of its form. `query_parameters` of the method is
    for `config.query_parameters`: None with `filters`, which validate the whole query.
    """

    def describe(method: Any) -> Method:
        pages = PAGES if any(map(_has_pages, responses.values())) else ()
        method.query_parameters = None if filters else frozenset(each.name for each in pages)
        described_method: Method = extend_schema(
            name,
            parameters=[*parameters, *([filters] if filters else []), *pages],
            request=request,
            responses=responses,
            extensions={
                "x-problems": problems.split(),
                "x-headers": {_status(key): success.headers for key, success in responses.items()},
            },
            **described,
        )(method)
        return described_method

    return describe


def _status(key: int | tuple[int, str]) -> str:
    return str(key[0] if isinstance(key, tuple) else key)


def _has_pages(success: Success) -> bool:
    within = success.response.within() if isinstance(success.response, Answer | Union) else ()
    return any(field.name == "next" for each in within if isinstance(each, Answer) for field in each.fields)
