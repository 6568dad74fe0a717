"""Lists in pages, newest first, without counting and without offsets: a page costs the same at any depth.

A page is asked for by the row that it begins after (`before` is older, `after` is newer), named in the
address. What is no such row is the first page.
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
    """Some rows of a list, and the addresses of the pages beside them: empty where there is none."""

    rows: Sequence[M]
    newer: str
    older: str


@dataclass(frozen=True, slots=True)
class Order:
    """What a list is ordered by, newest first. The last field is unique."""

    fields: tuple[str, ...]
    read: Callable[[str], tuple[Any, ...]]  # a place from an address; raises ValueError

    def place(self, row: Model) -> tuple[Any, ...]:
        return tuple(getattr(row, field) for field in self.fields)

    def write(self, row: Model) -> str:
        values = self.place(row)
        return "~".join(each.isoformat() if isinstance(each, datetime) else str(each) for each in values)

    def beyond(self, place: tuple[Any, ...], *, is_older: bool) -> Q:
        """Return the condition of the rows that lie beyond a place."""
        strictly = "lt" if is_older else "gt"
        condition = Q(**{f"{self.fields[-1]}__{strictly}": place[-1]})
        for field, value in zip(self.fields[-2::-1], place[-2::-1], strict=True):
            # The bound on the field alone lets an index begin at the place.
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
BY_ID = Order(("id",), _read_id)  # an id that begins with its time
BY_MOMENT = Order(("created_at", "id"), _read_moment_and_id)


def page_of(
    sources: Sequence[QuerySet[M]], query: QueryDict, *, order: Order = BY_ID, size: int = SIZE
) -> Page[M]:
    """Return the page that an address asks for, of what any of the sources holds.

    Several sources are several ways of looking: each has an index of its own, which one question with
    "or" in it would not use.
    """
    place, is_older = _asked_for(query, order)
    prefix = "-" if is_older else ""
    ordering = [f"{prefix}{field}" for field in order.fields]
    found: dict[Any, M] = {}
    for source in sources:
        beyond = source if place is None else source.filter(order.beyond(place, is_older=is_older))
        found |= {row.pk: row for row in beyond.order_by(*ordering)[: size + 1]}
    rows = sorted(found.values(), key=order.place, reverse=is_older)
    has_more, rows = len(rows) > size, rows[:size]
    if not is_older:
        rows.reverse()
    has_newer, has_older = (place is not None, has_more) if is_older else (has_more, True)
    return Page(
        rows=rows,
        newer=_address(query, NEWER, order.write(rows[0])) if rows and has_newer else "",
        older=_address(query, OLDER, order.write(rows[-1])) if rows and has_older else "",
    )


def _asked_for(query: QueryDict, order: Order) -> tuple[tuple[Any, ...] | None, bool]:
    for name, is_older in ((OLDER, True), (NEWER, False)):
        try:
            return order.read(query.get(name, "")), is_older
        except (ValueError, OverflowError):
            continue
    return None, True


def _address(query: QueryDict, name: str, place: str) -> str:
    kept = query.copy()
    for each in (OLDER, NEWER):
        kept.pop(each, None)
    kept[name] = place
    return f"?{kept.urlencode()}"
