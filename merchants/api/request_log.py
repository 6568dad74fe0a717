"""The request log for a business's developers, and the last use of API keys.

A call only appends to a bounded list in memory, which takes microseconds. A background thread stores the list at
most every INTERVAL, with hundreds of rows per statement. If it cannot keep up or the database is unavailable,
entries are dropped and counted. No call waits for its log entry.

Calls that fail authentication can come from anyone with the public id of a key. They have a separate queue, so they
never displace authenticated calls, and only a sample per minute of each network and of each key enters it. All of
them are counted, by key, reason and hour.

Bodies and headers are not stored. The target is stored without card numbers, and so is the reference of the object
that the view noted.
"""

import atexit
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import F, Q, QuerySet, Sum

from kit.db.prepared_statements import insert_if_absent
from kit.db.rows.batched_purge import purge_in_order
from kit.ip_networks import network_of
from kit.text.masking import mask_target
from merchants.api.api_requests import NamedObject
from merchants.models import ApiKey, ApiRequest, Business, FailedCallCount

log = structlog.get_logger("sluice.request_log")

CAPACITY = 20_000  # entries that wait at most
FAILURES_CAPACITY = 2_000  # calls that failed authentication
FAILURES_PER_NETWORK = 10  # samples per minute and process
FAILURES_PER_KEY = 60
BATCH = 500  # rows in one statement
INTERVAL = 1.0  # seconds
LAST_USED_RESOLUTION = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An API call with its response."""

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
    named: NamedObject | None = None  # the object that it made, changed or read
    is_logged: bool = True  # or only counted as a use of the key

    def row(self) -> ApiRequest:
        """Return the row of the request log."""
        named = self.named
        return ApiRequest(
            business_id=self.key.business_id,
            key=self.key.public_id,
            request_id=self.request_id[:128],
            method=self.method[:10],
            target=mask_target(self.target).replace("\x00", "")[:500],
            status=self.status,
            code=self.code[:40],
            milliseconds=round(self.seconds * 1000),
            address=self.address,
            at=self.at,
            object_kind=named.kind if named else "",
            object_id=named.id if named else None,
            reference=named.reference[:100] if named else "",
        )


CountKey = tuple[uuid.UUID, datetime, str, str]  # business, hour, public id, code


class FailedCalls:
    """Calls of this process that failed authentication: a count of all of them, and a sample."""

    def __init__(self) -> None:
        self.waiting: deque[Call] = deque()
        self._counts: Counter[CountKey] = Counter()
        self._minute = 0
        self._sampled: Counter[str] = Counter()  # by network, and by key
        self._lock = threading.Lock()

    def note(self, call: Call) -> None:
        hour = call.at.replace(minute=0, second=0, microsecond=0)
        with self._lock:
            self._counts[call.key.business_id, hour, call.key.public_id, call.code[:40]] += 1
            if self._is_sample(call) and len(self.waiting) < FAILURES_CAPACITY:
                self.waiting.append(call)

    def _is_sample(self, call: Call) -> bool:
        minute = int(call.at.timestamp()) // 60
        if minute != self._minute:
            self._minute = minute
            self._sampled.clear()
        key = f"key {call.key.public_id}"
        network = f"network {network_of(call.address) if call.address else ''}"
        if self._sampled[key] >= FAILURES_PER_KEY or self._sampled[network] >= FAILURES_PER_NETWORK:
            return False  # add no entry, so that a flood from many networks uses no memory
        self._sampled.update((key, network))
        return True

    def take_counts(self) -> Counter[CountKey]:
        with self._lock:
            counts, self._counts = self._counts, Counter()
        return counts

    def put_back(self, counts: Counter[CountKey]) -> None:
        with self._lock:
            self._counts.update(counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCallSum:
    """Number of calls with a key that failed authentication for one reason."""

    key: str
    code: str
    count: int


class RequestLog:
    """The calls of this process that aren't stored yet."""

    def __init__(self) -> None:
        self._waiting: deque[Call] = deque()
        self._failed = FailedCalls()
        self._dropped = 0
        self._flushing = threading.Lock()

    def note(self, call: Call) -> None:
        """Queue a call, or drop it if the queue is full."""
        if not call.is_authentic:
            self._failed.note(call)
            return
        if len(self._waiting) >= CAPACITY:
            self._dropped += 1
            return
        self._waiting.append(call)

    def start(self) -> None:
        """Store the calls of this process in the background, and the last ones when it ends."""
        atexit.register(self.flush)
        threading.Thread(target=self._run, name="request-log", daemon=True).start()

    def flush(self) -> int:
        """Store all queued entries; return the number of calls."""
        with self._flushing:
            return self._flush()

    def _flush(self) -> int:
        written = self._flush_calls(self._waiting) + self._flush_calls(self._failed.waiting)
        self._flush_counts()
        if self._dropped:
            log.warning("requests dropped from the log", count=self._dropped)
            self._dropped = 0
        return written

    def _flush_calls(self, waiting: deque[Call]) -> int:
        written = 0
        while waiting:
            batch = [waiting.popleft() for _ in range(min(BATCH, len(waiting)))]
            try:
                _write(batch)
            except DatabaseError as error:
                self._dropped += len(batch)
                log.warning("requests not logged", count=len(batch), error=type(error).__name__)
                connection.close()
                break
            written += len(batch)
        return written

    def _flush_counts(self) -> None:
        counts = self._failed.take_counts()
        try:
            _add_counts(counts)
        except DatabaseError as error:
            self._failed.put_back(counts)
            log.warning("failed calls not counted yet", error=type(error).__name__)
            connection.close()

    def _run(self) -> None:
        while True:
            time.sleep(INTERVAL)
            self.flush()


def _write(calls: list[Call]) -> None:
    with transaction.atomic():
        if settings.REQUEST_LOG_DAYS:
            ApiRequest.objects.bulk_create([call.row() for call in calls if call.is_logged])
        _touch_keys(calls)


def _add_counts(counts: Counter[CountKey]) -> None:
    if not counts or not settings.REQUEST_LOG_DAYS:
        return
    with transaction.atomic():
        for (business_id, hour, key, code), count in sorted(counts.items()):  # sorted: no deadlocks
            stored = {"business_id": business_id, "hour": hour, "key": key, "code": code}
            if not insert_if_absent(FailedCallCount(**stored, count=count)):
                FailedCallCount.objects.filter(**stored).update(count=F("count") + count)


def failed_calls(business: Business, *, since: datetime) -> list[FailedCallSum]:
    """Return the numbers of calls that failed authentication, by key and reason, the largest first."""
    counted = FailedCallCount.objects.filter(business=business, hour__gte=since).values_list("key", "code")
    sums = counted.annotate(total=Sum("count")).order_by("-total", "key", "code")
    return [FailedCallSum(key=key, code=code, count=total) for key, code, total in sums]


def _touch_keys(calls: list[Call]) -> None:
    """Record when each key was last used, to the minute."""
    last_used: dict[int, datetime] = {}
    for call in calls:
        if call.is_authentic:
            last_used[call.key.pk] = max(call.at, last_used.get(call.key.pk, call.at))
    for key_id, at in sorted(last_used.items()):
        stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=at - LAST_USED_RESOLUTION)
        ApiKey.objects.filter(stale, pk=key_id).update(last_used_at=at)


def old_requests(*, now: datetime) -> QuerySet[ApiRequest]:
    """Return the calls that are past their retention period."""
    return ApiRequest.objects.filter(at__lt=_days_ago(now))


def old_counts(*, now: datetime) -> QuerySet[FailedCallCount]:
    """Return the counts of failed calls that are past their retention period."""
    return FailedCallCount.objects.filter(hour__lt=_days_ago(now))


def purge_requests(*, now: datetime) -> Iterator[int]:
    """Delete old calls in batches, oldest first; yield the number of each batch."""
    return purge_in_order(ApiRequest.objects.all(), dated="at", before=_days_ago(now))


def _days_ago(now: datetime) -> datetime:
    return now - timedelta(days=settings.REQUEST_LOG_DAYS)


request_log = RequestLog()
