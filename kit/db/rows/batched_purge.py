"""Deletion of old rows in batches, with short statements and short locks."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import models

PIECE = 5_000  # rows read by one statement


def purge_in_order(rows: models.QuerySet[Any], *, dated: str, before: datetime) -> Iterator[int]:
    """Delete those of `rows` whose `dated` is earlier than `before`; yield the number of each batch.

    The table is read in primary key order, which is roughly time order, up to the first batch that reaches
    `before`. This needs no index by time and reads little more than it deletes. Rows inserted late are deleted by a
    later run.
    """
    walked, reached = rows.model._default_manager.order_by("pk").values_list("pk", dated), None
    while piece := list((walked if reached is None else walked.filter(pk__gt=reached))[:PIECE]):
        reached, newest = piece[-1]
        old = rows.filter(**{"pk__gte": piece[0][0], "pk__lte": reached, f"{dated}__lt": before})
        deleted, _ = old.delete()
        if deleted:
            yield deleted
        if newest >= before:
            return
