"""Old rows deleted in pieces: short statements, short locks, and something to show meanwhile."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import models

PIECE = 5_000  # rows looked at by one statement


def purge_in_order(rows: models.QuerySet[Any], *, dated: str, before: datetime) -> Iterator[int]:
    """Delete those of `rows` whose `dated` is before a moment; yield how many, piece by piece.

    The table is walked in the order of its keys, which is about the order of its moments, and the walk ends
    at the first piece that reaches the moment: it needs no index by time, and reads hardly more than it
    deletes. What came late to its table is found the next time, or the one after.
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
