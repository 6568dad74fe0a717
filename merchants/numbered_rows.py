"""Rows with counted ids, by time. They have no index on their time, but are numbered in its order.

Concurrent transactions can number rows in the opposite order of their times. The id decides the period of such a row.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypeVar

from django.db import connection
from django.db.models import Max, Model, QuerySet

from kit.db.rows.binary_search import last_number
from merchants.models import Business

M = TypeVar("M", bound=Model)

EARLIER = """COALESCE((
    SELECT one.at < %s FROM {table} one
    WHERE one.business_id = %s AND one.id <= found + step ORDER BY one.id DESC LIMIT 1
), 1 = 1)"""


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
    return last_number(EARLIER.format(table=model._meta.db_table), [at, owner], largest=largest)
