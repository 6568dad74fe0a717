"""What the API was asked, kept for a business's developers; and when its keys were last used.

A call only appends to a bounded list in memory, which costs it microseconds. A thread of the process
writes the list down, some hundred rows in one statement, at most every INTERVAL. When it cannot keep up,
or the database is away, entries are dropped and counted: no call ever waits for its own log.

Bodies and headers are not kept at all. The target is, without card numbers.
"""

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Q, QuerySet

from merchants.masking import mask_card_numbers
from merchants.models import ApiKey, ApiRequest
from merchants.retention import forget_in_order

log = structlog.get_logger("sluice.request_log")

CAPACITY = 20_000  # entries that wait at most
BATCH = 500  # rows in one statement
INTERVAL = 1.0  # seconds
LAST_USED_RESOLUTION = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call to the API, answered."""

    key: ApiKey
    is_authentic: bool  # the signature was right
    request_id: str
    method: str
    target: str
    status: int
    code: str
    seconds: float
    address: str | None
    at: datetime

    def row(self) -> ApiRequest:
        return ApiRequest(
            business_id=self.key.business_id,
            key=self.key.public_id,
            request_id=self.request_id[:128],
            method=self.method[:10],
            target=mask_card_numbers(self.target).replace("\x00", "")[:500],
            status=self.status,
            code=self.code[:40],
            milliseconds=round(self.seconds * 1000),
            address=self.address,
            at=self.at,
        )


class RequestLog:
    """The calls of this process that are not written down yet."""

    def __init__(self) -> None:
        self._waiting: deque[Call] = deque()
        self._dropped = 0
        self._thread: threading.Thread | None = None
        self._flushing = threading.Lock()

    def note(self, call: Call) -> None:
        """Remember a call; forget it where too many wait already."""
        if len(self._waiting) >= CAPACITY:
            self._dropped += 1
            return
        self._waiting.append(call)

    def start(self) -> None:
        """Write down what is noted, from now on, in a thread of this process and of those it forks."""
        if self._thread is None:
            os.register_at_fork(after_in_child=self._start_in_child)
            atexit.register(self.flush)
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="request-log", daemon=True)
            self._thread.start()

    def _start_in_child(self) -> None:
        self._waiting.clear()  # the parent writes its own
        self._flushing = threading.Lock()  # whoever held it did not come along
        self.start()

    def flush(self) -> int:
        """Write down everything that waits; return how many calls that were."""
        with self._flushing:
            return self._flush()

    def _flush(self) -> int:
        written = 0
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            try:
                _write(batch)
            except DatabaseError as error:
                self._dropped += len(batch)
                log.warning("requests not logged", count=len(batch), error=type(error).__name__)
                connection.close()
                break
            written += len(batch)
        if self._dropped:
            log.warning("requests dropped from the log", count=self._dropped)
            self._dropped = 0
        return written

    def _run(self) -> None:
        while True:
            time.sleep(INTERVAL)
            self.flush()


def _write(calls: list[Call]) -> None:
    with transaction.atomic():
        if settings.REQUEST_LOG_DAYS:
            ApiRequest.objects.bulk_create([call.row() for call in calls])
        _touch_keys(calls)


def _touch_keys(calls: list[Call]) -> None:
    """Say when each key was last used, to the minute."""
    last_used: dict[int, datetime] = {}
    for call in calls:
        if call.is_authentic:
            last_used[call.key.pk] = max(call.at, last_used.get(call.key.pk, call.at))
    for key_id, at in sorted(last_used.items()):
        stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=at - LAST_USED_RESOLUTION)
        ApiKey.objects.filter(stale, pk=key_id).update(last_used_at=at)


def old_requests(*, now: datetime) -> QuerySet[ApiRequest]:
    """Return the calls that are past their days."""
    return ApiRequest.objects.filter(at__lt=_days_ago(now))


def forget_requests(*, now: datetime) -> Iterator[int]:
    """Delete the old calls, the oldest first, some thousand at a time; yield how many each time."""
    return forget_in_order(ApiRequest.objects.all(), dated="at", before=_days_ago(now))


def _days_ago(now: datetime) -> datetime:
    return now - timedelta(days=settings.REQUEST_LOG_DAYS)


request_log = RequestLog()
