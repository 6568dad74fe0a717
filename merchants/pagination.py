"""Lists of the API: newest first, in cursor pages that stay stable while rows arrive."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

from django.core.exceptions import ValidationError as InvalidValue
from django.db.models import Model, QuerySet
from rest_framework.exceptions import ErrorDetail, NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

M = TypeVar("M")

LIMIT = re.compile(r"([1-9][0-9]?|100)\Z")


class NewestFirst(CursorPagination):
    """Keyset pages over the id, which begins with the time of creation."""

    page_size = 20
    max_page_size = 100
    page_size_query_param = "limit"
    ordering = "-id"

    def get_page_size(self, request: Request) -> int:
        given = request.query_params.getlist("limit")
        if not given:
            return self.page_size
        if len(given) == 1 and LIMIT.match(given[0]):
            return int(given[0])
        raise _invalid("limit", "limit must be one whole number from 1 to 100.")

    def decode_cursor(self, request: Request) -> Cursor | None:
        """Return where the page begins. What is no cursor of ours must not look like the first page."""
        cursor: Cursor | None = super().decode_cursor(request)
        is_foreign = cursor is not None and cursor.position is None
        if is_foreign or len(request.query_params.getlist("cursor")) > 1:
            raise NotFound
        return cursor

    def paginate_queryset(  # type: ignore[override]
        self, queryset: QuerySet[Model], request: Request, view: APIView | None = None
    ) -> list[Any] | None:
        try:
            return super().paginate_queryset(queryset, request, view)
        except (NotFound, InvalidValue, ValueError):
            raise _invalid("cursor", "cursor must come from a page's next or previous address.") from None

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"data": data, "next": self.get_next_link(), "previous": self.get_previous_link()})


class OldestFirst(NewestFirst):
    """The same pages in the other order."""

    ordering = "id"


def page_of(
    view: APIView, rows: Any, show: Callable[[M], Any], *, paginator: NewestFirst | None = None
) -> dict[str, Any]:
    """Return the page of a list that the request asks for.

    :raises ValidationError: `limit` or `cursor` is invalid
    """
    pages = paginator or NewestFirst()
    page = pages.paginate_queryset(rows, view.request, view)
    shown: dict[str, Any] = pages.get_paginated_response([show(row) for row in page or []]).data
    return shown


def _invalid(field: str, message: str) -> ValidationError:
    return ValidationError({field: [ErrorDetail(message, code="invalid")]})
