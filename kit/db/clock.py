"""The database's clock, shared by the processes of all hosts.

Times that decide about money (expiry, re-query, reversal) are set and compared by this clock, so hosts with
different clocks agree on what is due.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import cast

from django.utils import timezone

from kit.db import postgresql

MEASURED_FOR = 5.0  # seconds until the offset is measured again
# It advances while the machine is suspended, and is never adjusted.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def database_now() -> datetime:
    """Query the database's time. It advances within a transaction.

    SQLite runs in this process, and its clock is the process's.
    """
    return _ask_database()


def now() -> datetime:
    """Return the database's time, usually without a query, for the start of requests and tasks.

    Each process measures the offset between the database's clock and its own steady clock every 5 seconds. With
    PostgreSQL, the host's wall clock isn't used.
    """
    return _estimate.now()


def steady() -> float:
    """Return seconds of a clock that is never adjusted and advances while the machine is suspended."""
    return time.clock_gettime(_STEADY)


class Estimate:
    """The database's time, extrapolated from this process's last query."""

    def __init__(self) -> None:
        self._measurement = (0.0, float("-inf"))  # database time minus steady time; when it was measured

    def now(self) -> datetime:
        offset, measured_at = self._measurement
        if steady() - measured_at > MEASURED_FOR:
            offset = self._measure()
        return datetime.fromtimestamp(offset + steady(), tz=UTC)

    def _measure(self) -> float:
        before = steady()
        answered = _ask_database().timestamp()
        after = steady()
        offset = answered - (before + after) / 2
        self._measurement = (offset, after)
        return offset


_estimate = Estimate()


def _ask_database() -> datetime:
    for (moment,) in postgresql.rows("SELECT clock_timestamp()"):
        return cast("datetime", moment)
    return timezone.now()


class FollowedClock:
    """A clock that one thread updates and others read, also in an event loop, which may not query the database."""

    def __init__(self, read: Callable[[], datetime] = now) -> None:
        self._read = read
        self._setting = (timezone.now(), steady())

    def synchronize(self) -> datetime:
        """Read the source clock and return its time."""
        self._setting = (self._read(), steady())
        return self._setting[0]

    def now(self) -> datetime:
        moment, set_at = self._setting
        return moment + timedelta(seconds=steady() - set_at)
