"""The API description, and the answers of paths under /api/ that don't exist."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from developer_site.openapi.document import document
from kit.api.errors import Problem
from kit.api.fields.field_errors import closest
from kit.api.open_view import OpenView
from merchants.people.access import SIGNED, Limit, open_to, routes

VALUE = re.compile(r"<\w+:(\w+)>")  # in a route
BASE = re.compile(r"\A(/api)?(/v[0-9]+)?(?=/)")  # what other APIs' paths begin with


class NoSuchPath(Problem):
    """No route has this path. The detail names a path that is close to it, if there is one."""

    status_code = status.HTTP_404_NOT_FOUND
    default_code = "not_found"
    default_detail = "There is no such path."


@open_to(None, never_asks=SIGNED, limits=(Limit.KEY,))
class NoSuchEndpoint(APIView):
    """Every path under /api/ that does not exist. The caller is authenticated first."""

    permission_classes = ()  # a read-only key learns that the path is wrong, whatever the method
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise no_such_path(request.path)


def no_such_path(path: str) -> NoSuchPath:
    """Return the error of a path that doesn't exist, with the closest path of the API."""
    suggestion = _closest_path(path) or _closest_path(BASE.sub("/api", path))
    return NoSuchPath(f"There is no such path; did you mean {suggestion}?" if suggestion else None)


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
        return Response(document())
