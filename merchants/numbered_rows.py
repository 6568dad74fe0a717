"""Rows with counted ids, by time. They have no index on their time, but are numbered in its order.

Concurrent transactions can number rows in the opposite order of their times. The id decides the period of such a row.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypeVar

from django.db import connection
from django.db.models import Max, Model, QuerySet

from merchants.models import Business

M = TypeVar("M", bound=Model)

# Binary search: halve the step, and advance by it if the last row up to there is still earlier.
SEARCH = """
WITH RECURSIVE search (step, found) AS (
    SELECT CAST(%s AS bigint), CAST(0 AS bigint)
    UNION ALL
    SELECT step / 2, CASE WHEN found + step <= %s AND COALESCE((
        SELECT one.at < %s FROM {table} one
        WHERE one.business_id = %s AND one.id <= found + step ORDER BY one.id DESC LIMIT 1
    ), 1 = 1) THEN found + step ELSE found END
    FROM search WHERE step >= 1
)
SELECT found FROM search WHERE step = 0
"""


def in_period(
    rows: QuerySet[M], business: Business, *, begin: datetime | None, end: datetime | None
) -> QuerySet[M]:
    """Return the rows of a business with `begin` <= `at` < `end`."""
    if begin:
        rows = rows.filter(pk__gt=_last_before(rows.model, business, begin))
    return rows.filter(pk__lte=_last_before(rows.model, business, end)) if end else rows


def _last_before(model: type[Model], business: Business, moment: datetime) -> int:
    """Return an id up to which all rows are earlier, and after which none is."""
    largest = model._default_manager.filter(business=business).aggregate(largest=Max("pk"))["largest"] or 0
    at = connection.ops.adapt_datetimefield_value(moment)
    owner = Business._meta.pk.get_db_prep_value(business.pk, connection)
    with connection.cursor() as cursor:
        cursor.execute(
            SEARCH.format(table=model._meta.db_table), [1 << largest.bit_length(), largest, at, owner]
        )
        return int(cursor.fetchone()[0])
