"""Numbers that name a transaction: our own id, and those of ISO 8583."""

import secrets
import threading
import uuid
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import F

from payments.models import TraceCounter

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TRACE_NUMBERS = 999_999
BLOCK = 100  # numbers a process takes at once


def new_id(now: datetime) -> uuid.UUID:
    """Return a UUID of version 7 (RFC 9562): ids sort by their time of creation, to the microsecond."""
    microseconds = (now - EPOCH) // timedelta(microseconds=1)  # in whole numbers: a float would blur the last
    milliseconds, rest = divmod(microseconds, 1000)
    fraction = rest * 4096 // 1000
    value = milliseconds << 80 | 7 << 76 | fraction << 64 | 2 << 62 | secrets.randbits(62)
    return uuid.UUID(int=value)


def earliest_id(at: datetime) -> uuid.UUID:
    """Return the least id of that millisecond: whatever was made before has a smaller one.

    >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    >>> new_id(noon - timedelta(milliseconds=1)) < earliest_id(noon) <= new_id(noon)
    True
    """
    return uuid.UUID(int=((at - EPOCH) // timedelta(milliseconds=1)) << 80)


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
