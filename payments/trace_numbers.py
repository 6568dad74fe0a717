"""Trace numbers: the STAN and RRN of every message to an acquirer (ISO 8583 fields 11 and 37).

A process reserves blocks of numbers from a counter in the database and allocates them from memory. A reservation
commits at once, so a later rollback can't release its numbers. `take` raises inside a database transaction. See
decision 0020.
"""

import os
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import connection

from kit.connectors.connectors import RailUnavailable
from kit.db import postgresql
from kit.db.clock import database_now
from kit.db.prepared_statements import insert_if_absent
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
    """Reserve a block. The row isn't locked: it is stored only if no other process has reserved since it was read."""
    while True:
        before = TraceCounter.objects.filter(name=TraceCounter.STAN).first()
        server, moment = _server(), int(database_now().timestamp())
        after = _after_reservation(before, server=server, now=moment)
        if after.taken - after.hour_start > PER_HOUR:
            raise RailUnavailable("All trace numbers of this hour are taken. Nothing was stored.")
        if insert_if_absent(after) if before is None else _replace(before, after):
            return Block(
                first=after.taken - BLOCK,
                count=BLOCK,
                hour=after.hour,
                seconds_left=(after.hour + 1) * HOUR - moment,
            )


def _after_reservation(before: TraceCounter | None, *, server: str, now: int) -> TraceCounter:
    """Return the counter after the next block, at a time in seconds."""
    hour, first = now // HOUR, now * PER_SECOND
    if before is not None:
        first = max(first, before.taken + _gap(before, server=server, hour=hour))
    hour_start = before.hour_start if before is not None and before.hour == hour else first
    return TraceCounter(
        name=TraceCounter.STAN, taken=first + BLOCK, hour=hour, hour_start=hour_start, server=server
    )


def _gap(counter: TraceCounter, *, server: str, hour: int) -> int:
    """Return how many numbers another server skips, because it may lack the last reservations."""
    if counter.server == server:
        return 0
    left = counter.hour_start + PER_HOUR - counter.taken
    return FAILOVER_GAP if counter.hour != hour else min(FAILOVER_GAP, left // 4)


def _server() -> str:
    """Return the cluster, and its timeline, which changes after a failover or restore."""
    statement = (
        "SELECT (SELECT system_identifier FROM pg_control_system())"
        " || '-' || left(pg_walfile_name(pg_current_wal_lsn()), 8)"
    )
    return next((server for (server,) in postgresql.rows(statement)), "sqlite")


def _replace(before: TraceCounter, after: TraceCounter) -> bool:
    """Store a reservation unless another one was stored meanwhile."""
    unchanged = TraceCounter.objects.filter(
        name=before.name, taken=before.taken, hour=before.hour, server=before.server
    )
    stored = {
        "taken": after.taken,
        "hour": after.hour,
        "hour_start": after.hour_start,
        "server": after.server,
    }
    return unchanged.update(**stored) == 1
