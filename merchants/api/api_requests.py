"""What the middleware and the API note on a request."""

from typing import Any, NamedTuple, cast
from uuid import UUID

from django.http import HttpRequest
from rest_framework.request import Request

from kit.api.fields.strict_fields import RequestSerializer, instance_of, read_request
from merchants.models import ApiKey, Business
from merchants.models import ApiRequest as LoggedRequest

ObjectKind = LoggedRequest.ObjectKind


class NamedObject(NamedTuple):
    """The object that a request made, changed or read."""

    kind: str  # an ObjectKind
    id: UUID
    reference: str = ""  # the merchant's; empty if the object has none


class ApiRequest(HttpRequest):
    """A request with the attributes that are noted on it. Django creates plain requests; this is only their type."""

    id: str
    api_key: ApiKey | None  # the key that was named; the signature may be wrong
    is_authentic: bool
    rate_limit: dict[str, str]  # headers of the response
    named_object: NamedObject
    is_left_out_of_log: bool  # unless it is refused


def noted_on(request: Request) -> ApiRequest:
    """Return Django's request, from which the middleware reads what views and authentication note."""
    return request._request  # type: ignore[return-value]  # noqa: SLF001


def business_of(request: Request) -> Business:
    """Return the business that signed a request."""
    return cast("Business", request.user)


def key_of(request: Request) -> ApiKey:
    """Return the key pair that signed a request."""
    return cast("ApiKey", request.auth)


def body_of(request: Request) -> dict[str, Any]:
    """Return the JSON object of the body, or an empty one. The parser rejects everything else."""
    return cast("dict[str, Any]", request.data or {})


def read_body(request: Request, serializer: type[RequestSerializer]) -> dict[str, Any]:
    """Return the values of the body.

    :raises ValidationError: the request is invalid
    """
    return read_request(instance_of(serializer), body_of(request), currencies=business_of(request).currencies)


def leave_out_of_log(request: Request) -> None:
    """Leave a request out of the request log if it succeeds."""
    noted_on(request).is_left_out_of_log = True


def note_object(request: Request, kind: str, object_id: UUID, reference: str = "") -> None:
    """Note the object of a request, for the request log. A later object replaces an earlier one."""
    noted_on(request).named_object = NamedObject(kind, object_id, reference)
