"""Numbers that name a transaction: our own id, and those of ISO 8583."""

import threading
from datetime import datetime

from django.db import transaction
from django.db.models import F

from merchants.identifiers import earliest_id, new_id
from payments.models import TraceCounter

__all__ = ["earliest_id", "new_id", "retrieval_reference_number", "trace_numbers"]

TRACE_NUMBERS = 999_999
BLOCK = 100  # numbers a process takes at once


class TraceNumbers:
    """System trace audit numbers (ISO 8583 field 11): 000001 to 999999, then from the beginning.

    Each process takes them in blocks from one counter in the database, so that two processes never
    give out the same number within a round.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0
        self._end = 0

    def take(self) -> str:
        with self._lock:
            if self._next == self._end:
                self._next = self._reserve_block()
                self._end = self._next + BLOCK
            number = self._next
            self._next += 1
        return f"{number % TRACE_NUMBERS + 1:06}"

    def _reserve_block(self) -> int:
        with transaction.atomic():
            counter, _ = TraceCounter.objects.get_or_create(name=TraceCounter.STAN)
            TraceCounter.objects.filter(pk=counter.pk).update(taken=F("taken") + BLOCK)
            return TraceCounter.objects.get(pk=counter.pk).taken - BLOCK


trace_numbers = TraceNumbers()


def retrieval_reference_number(*, stan: str, at: datetime) -> str:
    """Return field 37: last digit of the year, day of the year, hour, STAN (UTC).

    >>> from datetime import UTC
    >>> retrieval_reference_number(stan="000042", at=datetime(2026, 2, 1, 9, 30, tzinfo=UTC))
    '603209000042'
    """
    return f"{at.year % 10}{at.timetuple().tm_yday:03}{at.hour:02}{stan}"
