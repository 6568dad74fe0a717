"""Binary search in numbered rows, in one statement."""

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import BigIntegerField
from django.db.models.expressions import RawSQL

# Halve the step, and advance by it if the condition still holds there.
_SEARCH = """
WITH RECURSIVE search (step, found) AS (
    SELECT CAST({step} AS bigint), CAST(0 AS bigint)
    UNION ALL
    SELECT step / 2, CASE WHEN found + step <= {largest} AND {condition} THEN found + step ELSE found END
    FROM search WHERE step >= 1
)
SELECT found FROM search WHERE step = 0
"""
_FIRST_STEP = 2**40  # of a search up to a column's value


def last_number(condition: str, parameters: Sequence[Any], *, largest: int) -> int:
    """Return the last number from 1 to `largest` for which a condition holds, or 0.

    The condition is SQL of our own about the number `found + step`. It holds for every number before one for which it does.
    """
    return last_numbers(condition, [(parameters, largest)])[0]


def last_numbers(condition: str, searches: Sequence[tuple[Sequence[Any], int]]) -> list[int]:
    """Return the last number of each search, as `last_number` does, in one statement. `searches`: parameters and largest."""
    if not searches:
        return []
    values: list[Any] = []
    for place, (parameters, largest) in enumerate(searches):
        values += [place, 1 << largest.bit_length(), largest, *parameters]
    search = _SEARCH.format(step="%s", largest="%s", condition=condition)
    each = f"SELECT CAST(%s AS bigint) AS place, found FROM ({search}) result"  # noqa: S608  (SQL of ours)
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join([each] * len(searches)), values)
        return [int(found) for _, found in sorted(cursor.fetchall())]


def last_number_of_row(condition: str, parameters: Sequence[Any], *, largest: str) -> RawSQL:
    """Return the last number for each row of a query, as `last_number` does. `largest` is the name of a column."""
    sql = _SEARCH.format(step=_FIRST_STEP, largest=largest, condition=condition)
    return RawSQL(sql, parameters, output_field=BigIntegerField())  # noqa: S611  (SQL of ours)
