"""Queues of calls to providers. The table is the queue: a worker leases a due row by making it due later.

It changes the row's `next_at` only as long as that is still the end of its own lease.
"""

from datetime import datetime, timedelta
from typing import TypeVar

from django.db import transaction as database
from django.db.models import QuerySet

from disputes.models import AnswerSending, CaseQuery

R = TypeVar("R", CaseQuery, AnswerSending)

# After a call without an answer. The last one repeats.
INTERVALS = (timedelta(seconds=10), timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=15))


@database.atomic
def lease_next(queue: type[R], lease: timedelta, *, now: datetime) -> R | None:
    """Lease the row that has been due for longest, or return None if none is."""
    due = queue._default_manager.select_for_update(skip_locked=True).filter(next_at__lte=now)
    row: R | None = due.order_by("next_at").first()
    if row is not None:
        row.next_at = now + lease
        row.save(update_fields=["next_at"])
    return row


def held(row: R) -> QuerySet[R]:
    """Return the row, unless its lease was lost."""
    return type(row)._default_manager.filter(pk=row.pk, next_at=row.next_at)


def next_try(row: R, *, now: datetime) -> datetime:
    """Return when a failed call is repeated."""
    return now + INTERVALS[min(row.attempts, len(INTERVALS) - 1)]
