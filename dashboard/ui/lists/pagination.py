"""Cursor pagination, newest or oldest first, without counts or offsets: a page costs the same at any depth.

The query names the row that the page starts after (`before` is older, `after` is newer). An invalid cursor gives the
first page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from django.http import QueryDict
from django.utils.dateparse import parse_datetime

from dashboard.ui.addresses import encoded

M = TypeVar("M", bound=Model)

SIZE = 25
OLDER, NEWER = "before", "after"
SORT, OLDEST_FIRST = "sort", "oldest"
MOST_SCANNED = 10_000  # rows that one page reads for a filter without an index


@dataclass(frozen=True, slots=True)
class Page(Generic[M]):
    """A page of a list, with the URLs of the adjacent pages; empty if there is none."""

    rows: Sequence[M]
    newer: str
    older: str
    is_partial: bool = False  # more rows may match beyond those that were read for this page


@dataclass(frozen=True, slots=True)
class Order:
    """The fields that a list is ordered by, newest first. The last field is unique."""

    fields: tuple[str, ...]
    read: Callable[[str], tuple[Any, ...]]  # parses a cursor; raises ValueError or OverflowError

    def position(self, row: Model) -> tuple[Any, ...]:
        return tuple(getattr(row, field) for field in self.fields)

    def ordering(self, *, is_older: bool) -> list[str]:
        return [f"{'-' if is_older else ''}{field}" for field in self.fields]

    def within(self, limit: tuple[Any, ...], *, is_older: bool) -> Q:
        """Return the condition of the rows up to a position."""
        return self.beyond(limit, is_older=not is_older, is_included=True)

    def write(self, row: Model) -> str:
        values = self.position(row)
        return "~".join(each.isoformat() if isinstance(each, datetime) else str(each) for each in values)

    def beyond(self, position: tuple[Any, ...], *, is_older: bool, is_included: bool = False) -> Q:
        """Return the condition of the rows beyond a position, with the row at the position if `is_included`."""
        strictly = "lt" if is_older else "gt"
        condition = Q(**{f"{self.fields[-1]}__{strictly}{'e' if is_included else ''}": position[-1]})
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
    return at.astimezone(UTC), UUID(key)  # OverflowError: outside the calendar once converted to UTC


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
    sources: Sequence[QuerySet[M]],
    query: QueryDict,
    *,
    order: Order = BY_ID,
    size: int = SIZE,
    scanned: QuerySet[M] | None = None,
) -> Page[M]:
    """Return the requested page of the rows in any of the sources.

    Each source has its own index, which a single query with OR wouldn't use. If the sources filter rows by columns
    without an index, `scanned` are the rows that the index finds: a page reads at most `MOST_SCANNED` of them.
    """
    oldest_first = query.get(SORT) == OLDEST_FIRST
    position, is_older = _cursor(query, order, is_older=not oldest_first)
    limit = None if scanned is None else _scan_limit(scanned, position, order, is_older=is_older)
    rows = _read(sources, position, limit, order, is_older=is_older, size=size + 1)
    has_more, rows = len(rows) > size, rows[:size]
    first, last = (rows[0], rows[-1]) if rows else (None, None)
    if limit is not None and not has_more:  # continue behind the rows that were read
        has_more, last = True, limit
    is_partial = limit is not None and last is limit
    back, on = (NEWER, OLDER) if is_older else (OLDER, NEWER)
    addresses = {
        back: _address(query, back, order.write(first)) if first and position is not None else "",
        on: _address(query, on, order.write(last)) if last and has_more else "",
    }
    if is_older == oldest_first:
        rows.reverse()
    return Page(rows=rows, newer=addresses[NEWER], older=addresses[OLDER], is_partial=is_partial)


@dataclass(frozen=True, slots=True)
class Sort:
    """The order of a list, and the address of the other one, for the head of its column."""

    is_oldest_first: bool
    other: str

    @property
    def aria(self) -> str:
        return "ascending" if self.is_oldest_first else "descending"


def sort_of(query: QueryDict) -> Sort:
    """Return how a list is sorted by time."""
    is_oldest_first = query.get(SORT) == OLDEST_FIRST
    other = query.copy()
    for name in (OLDER, NEWER, SORT):
        other.pop(name, None)
    if not is_oldest_first:
        other[SORT] = OLDEST_FIRST
    return Sort(is_oldest_first, f"?{encoded(other, keeps_search=True)}")


def scan_limit(scanned: QuerySet[M], order: Order = BY_ID) -> M | None:
    """Return the last of the newest rows that are read for a filter without an index; None if all are read."""
    return _scan_limit(scanned, None, order, is_older=True)


def _scan_limit(
    scanned: QuerySet[M], position: tuple[Any, ...] | None, order: Order, *, is_older: bool
) -> M | None:
    rows = scanned if position is None else scanned.filter(order.beyond(position, is_older=is_older))
    columns = [field for field in order.fields if field not in rows.query.annotations]
    ordered = rows.select_related(None).order_by(*order.ordering(is_older=is_older)).only(*columns)
    return next(iter(ordered[MOST_SCANNED - 1 : MOST_SCANNED]), None)


def _read(
    sources: Sequence[QuerySet[M]],
    position: tuple[Any, ...] | None,
    limit: M | None,
    order: Order,
    *,
    is_older: bool,
    size: int,
) -> list[M]:
    """Return rows beyond a position, the nearest first.

    Their keys are found first, which an index of the filter answers alone. PostgreSQL would otherwise take a large
    business's rows from the primary key, and read past all rows of others that are older or newer than its own.
    """
    condition = Q() if position is None else order.beyond(position, is_older=is_older)
    if limit is not None:
        condition &= order.within(order.position(limit), is_older=is_older)
    ordering = order.ordering(is_older=is_older)
    found: dict[Any, M] = {}
    for source in sources:
        rows = source.filter(condition) if condition else source
        nearest = rows.select_related(None).order_by(*ordering).values("pk")[:size]
        found |= {row.pk: row for row in source.filter(pk__in=nearest)}
    return sorted(found.values(), key=order.position, reverse=is_older)[:size]


def _cursor(query: QueryDict, order: Order, *, is_older: bool) -> tuple[tuple[Any, ...] | None, bool]:
    """Return the position that a page starts after, and its direction: by default that of the first page."""
    for name, towards_older in ((OLDER, True), (NEWER, False)):
        try:
            return order.read(query.get(name, "")), towards_older
        except (ValueError, OverflowError):
            continue
    return None, is_older


def _address(query: QueryDict, name: str, cursor: str) -> str:
    kept = query.copy()
    for each in (OLDER, NEWER):
        kept.pop(each, None)
    kept[name] = cursor
    return f"?{encoded(kept, keeps_search=True)}"
