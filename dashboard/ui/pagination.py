"""Cursor pagination, newest first, without counts or offsets: a page costs the same at any depth.

The query names the row that the page starts after (`before` is older, `after` is newer). An invalid cursor gives the
first page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from django.http import QueryDict
from django.utils.dateparse import parse_datetime

M = TypeVar("M", bound=Model)

SIZE = 25
OLDER, NEWER = "before", "after"


@dataclass(frozen=True, slots=True)
class Page(Generic[M]):
    """A page of a list, with the URLs of the adjacent pages; empty if there is none."""

    rows: Sequence[M]
    newer: str
    older: str


@dataclass(frozen=True, slots=True)
class Order:
    """The fields that a list is ordered by, newest first. The last field is unique."""

    fields: tuple[str, ...]
    read: Callable[[str], tuple[Any, ...]]  # parses a cursor; raises ValueError

    def position(self, row: Model) -> tuple[Any, ...]:
        return tuple(getattr(row, field) for field in self.fields)

    def write(self, row: Model) -> str:
        values = self.position(row)
        return "~".join(each.isoformat() if isinstance(each, datetime) else str(each) for each in values)

    def beyond(self, position: tuple[Any, ...], *, is_older: bool) -> Q:
        """Return the condition of the rows beyond a position."""
        strictly = "lt" if is_older else "gt"
        condition = Q(**{f"{self.fields[-1]}__{strictly}": position[-1]})
        for field, value in zip(self.fields[-2::-1], position[-2::-1], strict=True):
            # The bound on the field alone lets an index scan start at the position.
            condition = Q(**{f"{field}__{strictly}e": value}) & (
                Q(**{f"{field}__{strictly}": value}) | condition
            )
        return condition


def _read_id(text: str) -> tuple[UUID]:
    return (UUID(text),)


def _read_moment_and_id(text: str) -> tuple[datetime, UUID]:
    moment, _, key = text.partition("~")
    at = parse_datetime(moment)
    if at is None or at.tzinfo is None:
        raise ValueError(text)
    return at, UUID(key)


def _read_number(text: str) -> tuple[int]:
    number = int(text)
    if not 0 <= number < 2**63:
        raise ValueError(text)
    return (number,)


BY_NUMBER = Order(("id",), _read_number)  # an id that the database counts up
BY_SEQUENCE = Order(("sequence",), _read_number)  # a position in an account
BY_ID = Order(("id",), _read_id)  # an id that starts with its creation time
BY_MOMENT = Order(("created_at", "id"), _read_moment_and_id)


def page_of(
    sources: Sequence[QuerySet[M]], query: QueryDict, *, order: Order = BY_ID, size: int = SIZE
) -> Page[M]:
    """Return the requested page of the rows in any of the sources.

    Each source has its own index, which a single query with OR wouldn't use.
    """
    position, is_older = _cursor(query, order)
    prefix = "-" if is_older else ""
    ordering = [f"{prefix}{field}" for field in order.fields]
    found: dict[Any, M] = {}
    for source in sources:
        beyond = source if position is None else source.filter(order.beyond(position, is_older=is_older))
        found |= {row.pk: row for row in beyond.order_by(*ordering)[: size + 1]}
    rows = sorted(found.values(), key=order.position, reverse=is_older)
    has_more, rows = len(rows) > size, rows[:size]
    if not is_older:
        rows.reverse()
    has_newer, has_older = (position is not None, has_more) if is_older else (has_more, True)
    return Page(
        rows=rows,
        newer=_address(query, NEWER, order.write(rows[0])) if rows and has_newer else "",
        older=_address(query, OLDER, order.write(rows[-1])) if rows and has_older else "",
    )


def _cursor(query: QueryDict, order: Order) -> tuple[tuple[Any, ...] | None, bool]:
    for name, is_older in ((OLDER, True), (NEWER, False)):
        try:
            return order.read(query.get(name, "")), is_older
        except (ValueError, OverflowError):
            continue
    return None, True


def _address(query: QueryDict, name: str, cursor: str) -> str:
    kept = query.copy()
    for each in (OLDER, NEWER):
        kept.pop(each, None)
    kept[name] = cursor
    return f"?{kept.urlencode()}"
