"""Binary search in numbered rows, in one statement."""

from collections.abc import Sequence
from typing import Any

from django.db import connection

# Halve the step, and advance by it if the condition still holds there.
_SEARCH = """
SELECT CAST(%s AS bigint) AS place, found FROM (
    WITH RECURSIVE search (step, found) AS (
        SELECT CAST(%s AS bigint), CAST(0 AS bigint)
        UNION ALL
        SELECT step / 2, CASE WHEN found + step <= %s AND {condition} THEN found + step ELSE found END
        FROM search WHERE step >= 1
    )
    SELECT found FROM search WHERE step = 0
) AS result
"""


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
    sql = " UNION ALL ".join([_SEARCH.format(condition=condition)] * len(searches))
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return [int(found) for _, found in sorted(cursor.fetchall())]
