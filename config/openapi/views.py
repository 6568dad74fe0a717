"""The API description and its page, the only URLs under /api/ without a signature."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt  # noqa: TID251  (it takes no POST)
from django.views.generic import TemplateView
from drf_spectacular.generators import SchemaGenerator
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from config.access_rules import routes
from config.problems import problem_response
from kit.api.errors import Problem
from kit.api.field_errors import closest
from kit.api.open_view import OpenView

VALUE = re.compile(r"<\w+:(\w+)>")  # in a route


class NoSuchPath(Problem):
    """No route has this path. The detail names a path that is close to it, if there is one."""

    status_code = status.HTTP_404_NOT_FOUND
    default_code = "not_found"
    default_detail = "There is no such path."


class NoSuchEndpoint(APIView):
    """Every path under /api/ that does not exist. The caller is authenticated first."""

    permission_classes = ()  # a read-only key learns that the path is wrong, whatever the method
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        suggestion = _closest_path(request.path)
        if suggestion:
            raise NoSuchPath(f"There is no such path; did you mean {suggestion}?")
        raise NoSuchPath


def _closest_path(path: str) -> str:
    """Return the path of the API that is closest, with `{reference}` for a reference; empty if none is close."""
    asked = path.rstrip("/").split("/")
    near = {_with_values(known, asked): "/".join(known) for known in _paths() if _is_near(known, asked)}
    found = near.get(closest("/".join(asked), near))
    return found or closest(path, ["/".join(known) for known in _paths() if not any(map(_is_value, known))])


def _is_near(known: Sequence[str], asked: Sequence[str]) -> bool:
    """Return whether each segment of a path is close to that of a known path, except its values."""
    return len(known) == len(asked) and all(
        _is_value(name) or closest(given, [name]) or given == name
        for name, given in zip(known, asked, strict=True)
    )


def _with_values(known: Sequence[str], asked: Sequence[str]) -> str:
    return "/".join(given if _is_value(name) else name for name, given in zip(known, asked, strict=True))


def _is_value(segment: str) -> bool:
    return segment.startswith("{")


@lru_cache(maxsize=1)
def _paths() -> list[list[str]]:
    """Return the segments of each path of the API, as the description of the API writes them."""
    written = [VALUE.sub(r"{\1}", route) for route, _ in routes() if route.startswith("api/")]
    return [f"/{path}".split("/") for path in written]


class OpenAPIView(OpenView):
    """The OpenAPI 3.1 document."""

    schema = None

    def get(self, request: Request) -> Response:
        return Response(openapi_document())


@lru_cache(maxsize=1)
def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document. It is the same for every request."""
    document: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return document


@method_decorator(csrf_exempt, name="dispatch")  # or a POST would be a forged form, and not 405
class SwaggerView(TemplateView):
    """Swagger UI from our own static files: nothing is loaded from another host, nothing is inline.

    It only shows. Calls are signed over their exact bytes, which its "Try it out" cannot do.
    """

    template_name = "docs/api.html"
    http_method_names = ["get", "head", "options"]

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        answer = problem_response(request, "method_not_allowed")
        answer.headers["Allow"] = ", ".join(name.upper() for name in self.http_method_names)
        return answer
