"""Trace numbers: the STAN and RRN of every message to an acquirer (ISO 8583 fields 11 and 37).

A process reserves blocks of numbers from a counter in the database and allocates them from memory. A reservation is
one statement that commits at once, so a later rollback can't release its numbers. `take` raises inside a database
transaction. See decision 0020.
"""

import os
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from kit.connectors.connectors import RailUnavailable
from payments.models import TraceCounter

ROUND = 999_999  # STANs: 000001 to 999999, then again from 000001
BLOCK = 100  # numbers per reservation
PER_HOUR = 900_000  # limit per hour, because an RRN consists of the hour and the STAN
PER_SECOND = 10  # minimum rate of the counter, so that a restored backup doesn't repeat numbers
# Numbers skipped after a failover, because the new server may lack the last blocks: at most a quarter of those that the
# hour has left, so that no number of failovers uses up an hour.
FAILOVER_GAP = 100_000
HOUR = 3_600  # seconds


@dataclass(frozen=True, slots=True)
class TraceNumber:
    """A STAN and the RRN that contains it."""

    stan: str
    rrn: str


class Block:
    """Numbers that this process has reserved and not yet allocated."""

    def __init__(self, *, first: int, count: int, hour: int, seconds_left: float) -> None:
        self._next, self._end, self._hour = first, first + count, hour
        # Two clocks, because the monotonic one stops while a machine is suspended and the wall clock may be set back.
        self._ends = time.monotonic() + seconds_left, time.time() + seconds_left

    @property
    def is_usable(self) -> bool:
        """Return whether numbers are left and their hour is not over."""
        monotonic_end, wall_end = self._ends
        is_in_time = time.monotonic() < monotonic_end and time.time() < wall_end
        return self._next < self._end and is_in_time

    def take(self) -> TraceNumber:
        stan = f"{self._next % ROUND + 1:06}"
        self._next += 1
        return TraceNumber(
            stan=stan,
            rrn=retrieval_reference_number(stan=stan, at=datetime.fromtimestamp(self._hour * HOUR, UTC)),
        )


class TraceNumbers:
    """The trace numbers of one process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._block: Block | None = None

    def take(self) -> TraceNumber:
        """Return the next number, which is never allocated twice.

        :raises RuntimeError: a database transaction is open
        :raises RailUnavailable: all numbers of this hour are taken
        """
        _refuse_inside_transaction()
        with self._lock:
            if self._block is None or not self._block.is_usable:
                self._block = _reserve()
            return self._block.take()

    def discard(self) -> None:
        """Discard the reserved block. Called in a forked child, because the block belongs to its parent."""
        self._lock = threading.Lock()  # the thread that held the old lock doesn't exist in the child
        self._block = None


def retrieval_reference_number(*, stan: str, at: datetime) -> str:
    """Return field 37: last digit of the year, day of the year, hour, STAN (UTC).

    >>> retrieval_reference_number(stan="000042", at=datetime(2026, 2, 1, 9, 30, tzinfo=UTC))
    '603209000042'
    """
    return f"{at.year % 10}{at.timetuple().tm_yday:03}{at.hour:02}{stan}"


def left(*, now: datetime) -> int:
    """Return how many numbers can still be reserved in the hour of `now`."""
    counter = TraceCounter.objects.filter(name=TraceCounter.STAN, hour=int(now.timestamp()) // HOUR).first()
    return PER_HOUR - (counter.taken - counter.hour_start) if counter else PER_HOUR


trace_numbers = TraceNumbers()
os.register_at_fork(after_in_child=trace_numbers.discard)


def _refuse_inside_transaction() -> None:
    """Raise inside a transaction. A rollback could undo the reservation, and waiting for it would hold locks."""
    blocks = connection.atomic_blocks
    if blocks and not getattr(blocks[-1], "_from_testcase", False):  # as `atomic(durable=True)` decides
        raise RuntimeError("Take trace numbers before the database transaction begins.")


def _reserve() -> Block:
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENTS[connection.vendor], _VALUES)
        reserved = cursor.fetchone()
    if reserved is None:
        raise RailUnavailable("All trace numbers of this hour are taken. Nothing was stored.")
    taken, hour, now = reserved
    return Block(first=taken - BLOCK, count=BLOCK, hour=hour, seconds_left=(hour + 1) * HOUR - now)


# The counter's next number. `excluded` has the values of a first reservation at this time.
_FIRST = """
    {greatest}(
        counter.taken + CASE
            WHEN counter.server = excluded.server THEN 0
            WHEN counter.hour <> excluded.hour THEN %(gap)s
            ELSE {least}(%(gap)s, (counter.hour_start + %(per_hour)s - counter.taken) / 4)
        END,
        excluded.hour_start)
"""
_RESERVATION = f"""
    INSERT INTO {TraceCounter._meta.db_table} AS counter (name, taken, hour, hour_start, server)
    SELECT %(name)s, now * %(per_second)s + %(block)s, now / {HOUR}, now * %(per_second)s, {{server}}
    FROM (SELECT {{now}} AS now) AS clock WHERE true
    ON CONFLICT (name) DO UPDATE SET
        taken = {_FIRST} + %(block)s,
        hour = excluded.hour,
        hour_start = CASE WHEN counter.hour = excluded.hour THEN counter.hour_start ELSE {_FIRST} END,
        server = excluded.server
    WHERE counter.hour <> excluded.hour OR {_FIRST} + %(block)s - counter.hour_start <= %(per_hour)s
    RETURNING taken, hour, {{now}}
"""  # noqa: S608  (all constant)
_STATEMENTS = {
    "postgresql": _RESERVATION.format(
        greatest="greatest",
        least="least",
        now="floor(extract(epoch FROM clock_timestamp()))::bigint",
        # The cluster, and its timeline, which changes after a failover or restore.
        server="(SELECT system_identifier FROM pg_control_system())"
        " || '-' || left(pg_walfile_name(pg_current_wal_lsn()), 8)",
    ),
    "sqlite": _RESERVATION.format(
        greatest="max", least="min", now="CAST(strftime('%%s', 'now') AS INTEGER)", server="'sqlite'"
    ),
}
_VALUES: dict[str, Any] = {
    "name": TraceCounter.STAN,
    "block": BLOCK,
    "gap": FAILOVER_GAP,
    "per_second": PER_SECOND,
    "per_hour": PER_HOUR,
}
