"""What the middleware and the API note on a request."""

from django.http import HttpRequest
from rest_framework.request import Request

from merchants.models import ApiKey


class ApiRequest(HttpRequest):
    """A request with the attributes that are noted on it. Django creates plain requests; this is only their type."""

    id: str
    api_key: ApiKey | None  # the key that was named; the signature may be wrong
    is_authentic: bool
    rate_limit: dict[str, str]  # headers of the response


def noted_on(request: Request) -> ApiRequest:
    """Return Django's request, from which the middleware reads what views and authentication note."""
    return request._request  # type: ignore[return-value]  # noqa: SLF001
