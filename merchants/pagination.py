"""Lists of the API: newest first, in cursor pages that stay stable while rows arrive."""

from typing import Any

from django.core.exceptions import ValidationError as InvalidValue
from django.db.models import Model, QuerySet
from rest_framework.exceptions import ErrorDetail, NotFound, ValidationError
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView


class NewestFirst(CursorPagination):
    """Keyset pages over the id, which begins with the time of creation."""

    page_size = 20
    max_page_size = 100
    page_size_query_param = "limit"
    ordering = "-id"

    def get_page_size(self, request: Request) -> int:
        given = request.query_params.get("limit")
        if given is None:
            return self.page_size
        if given.isascii() and given.isdecimal() and 1 <= int(given[:9]) <= self.max_page_size:
            return int(given)
        raise _invalid("limit", "limit must be a whole number from 1 to 100.")

    def paginate_queryset(
        self, queryset: QuerySet[Model], request: Request, view: APIView | None = None
    ) -> list[Any] | None:
        try:
            return super().paginate_queryset(queryset, request, view)
        except (NotFound, InvalidValue):
            raise _invalid("cursor", "cursor must come from a page's next or previous address.") from None

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"data": data, "next": self.get_next_link(), "previous": self.get_previous_link()})


def _invalid(field: str, message: str) -> ValidationError:
    return ValidationError({field: [ErrorDetail(message, code="invalid")]})
