"""Read many rows in pages, each with a statement of its own.

A cursor outside a transaction copies all rows before it yields the first: PostgreSQL into a temporary file, or, behind
PgBouncer, Django into this process.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

from django.db.models import Model, Q, QuerySet

M = TypeVar("M", bound=Model)


def in_pages(ordered: QuerySet[M], beyond: Callable[[M], Q], *, size: int) -> Iterator[M]:
    """Yield all rows in their order, of which at most `size` are in memory.

    `beyond` returns the condition for the rows that follow a row in that order.
    """
    page = list(ordered[:size])
    while page:
        yield from page
        page = list(ordered.filter(beyond(page[-1]))[:size]) if len(page) == size else []
