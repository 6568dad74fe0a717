"""Pagination of API lists: newest first, with cursors that stay stable while rows are added."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

from django.core.exceptions import ValidationError as InvalidValue
from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_datetime
from rest_framework.exceptions import ErrorDetail, NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

M = TypeVar("M")

LIMIT = re.compile(r"([1-9][0-9]?|100)\Z")


class NewestFirst(CursorPagination):
    """Keyset pagination by id, which begins with the creation time."""

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
        """Return the start of the page. An invalid cursor must not return the first page."""
        cursor: Cursor | None = super().decode_cursor(request)
        is_foreign = cursor is not None and cursor.position is None
        if is_foreign or len(request.query_params.getlist("cursor")) > 1:
            raise NotFound
        return cursor

    def paginate_queryset(
        self, queryset: Any, request: Request, view: APIView | None = None
    ) -> list[Any] | None:
        try:
            return super().paginate_queryset(queryset, request, view)
        except (NotFound, InvalidValue, ValueError):
            raise _invalid("cursor", "cursor must come from a page's next or previous address.") from None

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"data": data, "next": self.get_next_link(), "previous": self.get_previous_link()})


class OldestFirst(NewestFirst):
    """Keyset pagination in the opposite order."""

    ordering = "id"


class NewestMomentFirst(NewestFirst):
    """Keyset pagination by (`created_at`, `id`), for rows whose ids do not sort by time."""

    ordering = "-created_at"

    def paginate_queryset(
        self, queryset: Any, request: Request, view: APIView | None = None
    ) -> list[Any] | None:
        return super().paginate_queryset(RowsByMoment(queryset), request, view)

    def _get_position_from_instance(self, instance: Any, ordering: Any) -> str:
        return f"{instance.created_at.isoformat()}~{instance.pk}"


@dataclass(frozen=True, slots=True)
class RowsByMoment:
    """A queryset adapter for positions that consist of a time and an id."""

    rows: QuerySet[Any]

    def order_by(self, ordering: str) -> RowsByMoment:
        direction = "-" if ordering.startswith("-") else ""
        return RowsByMoment(self.rows.order_by(ordering, f"{direction}id"))

    def filter(self, **beyond: str) -> RowsByMoment:
        """Return the rows after a position.

        :raises ValueError: the position is invalid
        """
        ((lookup, position),) = beyond.items()
        side = lookup.rpartition("__")[2]  # lt or gt
        moment, key = _read_position(position)
        # The condition on the time alone lets the index scan start at the position.
        near = self.rows.filter(**{f"created_at__{side}e": moment})
        return RowsByMoment(near.filter(Q(**{f"created_at__{side}": moment}) | Q(**{f"id__{side}": key})))

    def __getitem__(self, part: slice) -> QuerySet[Any]:
        return self.rows[part]


def _read_position(position: str) -> tuple[datetime, UUID]:
    moment, _, key = position.partition("~")
    at = parse_datetime(moment)
    if at is None or at.tzinfo is None:
        raise ValueError(position)
    try:
        return at.astimezone(UTC), UUID(key)
    except OverflowError:  # outside the calendar once converted to UTC
        raise ValueError(position) from None


def page_of(
    view: APIView, rows: Any, show: Callable[[M], Any], *, paginator: NewestFirst | None = None
) -> dict[str, Any]:
    """Return the requested page of a list.

    :raises ValidationError: `limit` or `cursor` is invalid
    """
    pages = paginator or NewestFirst()
    page = pages.paginate_queryset(rows, view.request, view)
    shown: dict[str, Any] = pages.get_paginated_response([show(row) for row in page or []]).data
    return shown


def _invalid(field: str, message: str) -> ValidationError:
    return ValidationError({field: [ErrorDetail(message, code="invalid")]})
