"""Totals of lists that stay cheap at any size: no count reads more than `MOST_COUNTED` rows and one.

Up to that number, counts and sums are exact. Beyond it, a list shows "10,000+" and no sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet
from django.db.models.expressions import Combinable

from kit.money.money import money

MOST_COUNTED = 10_000
TO = "\u2013"  # an en dash

Sources = Sequence[QuerySet[Any]]


@dataclass(frozen=True, slots=True)
class Count:
    """The number of matching rows: exact, or the number that was counted before counting stopped."""

    number: int
    is_exact: bool = True

    def __str__(self) -> str:
        """Return the number for people.

        >>> str(Count(1284)), str(Count(10_000, is_exact=False))
        ('1,284', '10,000+')
        """
        return f"{self.number:,}{'' if self.is_exact else '+'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTotals:
    """What is written below a list, such as "1 of 1 payment · NGN 1,204,300.00 succeeded"."""

    shown: int  # rows on this page
    newer: int | None  # rows on the pages before it; None if unknown
    count: Count
    noun: str  # plural
    singular: str
    sums: Sequence[str] = field(default_factory=list)  # of money
    sums_are: str = ""  # such as "succeeded"

    @property
    def position(self) -> str:
        """Return the position of the page, or the number of its rows if the position is unknown."""
        if self.newer is None:
            return f"{self.shown:,}"
        first, last = self.newer + 1, self.newer + self.shown
        return f"{first:,}{TO}{last:,}" if last > first else f"{first:,}"

    @property
    def named(self) -> str:
        """Return the noun that agrees with the count."""
        return self.singular if self.count == Count(1) else self.noun

    def __str__(self) -> str:
        sums = "".join(f" · {each}" for each in self.sums)
        outcome = f" {self.sums_are}" if self.sums and self.sums_are else ""
        return f"{self.position} of {self.count} {self.named}{sums}{outcome}"


def count_each(
    parts: Mapping[str, Sources], *, most: int = MOST_COUNTED, are_disjoint: bool = False
) -> dict[str, Count]:
    """Count each part in one statement. A part is the union of querysets with an index each.

    Filters of a part must be carried by an index, or bounded otherwise: the limit bounds the matches, not the
    rows that an index finds and a filter then rejects. Parts with the same rows, such as a tab that is shown, are
    counted once. Querysets that have no row in common (`are_disjoint`) cost no search for such rows.
    """
    counts = {name: Count(0) for name in parts}
    names: dict[tuple[str, tuple[Any, ...]], list[str]] = {}  # by statement and parameters
    for name, sources in parts.items():
        if statement := _counting(sources, most, are_disjoint=are_disjoint):
            names.setdefault(statement, []).append(name)
    if names:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT {', '.join(sql for sql, _ in names)}",
                [each for _, values in names for each in values],
            )
            for alike, number in zip(names.values(), cursor.fetchone(), strict=True):
                counts |= dict.fromkeys(alike, Count(min(number, most), number <= most))
    return counts


def _counting(sources: Sources, most: int, *, are_disjoint: bool) -> tuple[str, tuple[Any, ...]] | None:
    """Return the statement that counts the rows in any of the sources up to the limit; None if nothing can match."""
    selects = [each for each in (_select(source, most) for source in sources) if each]
    if not selects:
        return None
    parts = (f"SELECT * FROM ({sql}) part" for sql, _ in selects)  # noqa: S608
    together = (" UNION ALL " if are_disjoint else " UNION ").join(parts)
    values = tuple(each for _, values in selects for each in values)
    return f"(SELECT count(*) FROM (SELECT * FROM ({together}) found LIMIT {most + 1}) counted)", values  # noqa: S608


def sums(sources: Sources, amount: Combinable) -> list[str]:
    """Return the sum in each currency, largest first, in one statement. Sum only rows that were counted exactly."""
    return sums_each({"": (sources, amount)})[""]


def sums_each(parts: Mapping[str, tuple[Sources, Combinable]]) -> dict[str, list[str]]:
    """Return the sums of each part, whose names are literals of ours, in one statement."""
    found: dict[str, list[str]] = {name: [] for name in parts}
    statements, values = [], list[Any]()
    for name, (sources, amount) in parts.items():
        selects = [each for each in (_select(source, MOST_COUNTED, amount) for source in sources) if each]
        if selects:
            together = " UNION ".join(f"SELECT * FROM ({sql}) part" for sql, _ in selects)  # noqa: S608
            columns = f"'{name}', currency, sum(counted_amount)"
            statements.append(f"SELECT {columns} FROM ({together}) counted GROUP BY currency")  # noqa: S608
            values += [each for _, parameters in selects for each in parameters]
    if statements:
        with connection.cursor() as cursor:
            cursor.execute(f"{' UNION ALL '.join(statements)} ORDER BY 3 DESC", values)
            for name, currency, total in cursor.fetchall():
                found[name] += [money(int(total), currency)] if total else []
    return found


def _select(
    source: QuerySet[Any], most: int, amount: Combinable | None = None
) -> tuple[str, Sequence[Any]] | None:
    """Return the statement for the keys of a source, with amounts if wanted; None if nothing can match."""
    rows = source.order_by()
    columns = rows.values("pk") if amount is None else rows.values("pk", "currency", counted_amount=amount)
    try:
        sql, parameters = columns[: most + 1].query.sql_with_params()
    except EmptyResultSet:
        return None
    return sql, parameters
