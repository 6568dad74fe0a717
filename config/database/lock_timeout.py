"""Lock timeout of requests, shortened for a while after one has timed out.

If one transaction holds a lock that most requests need, every thread of this process would wait for the whole
`DATABASE_LOCK_TIMEOUT`, and requests that don't need the lock would queue behind them. After the first timeout,
further requests therefore wait only briefly, until no more timeouts occur.
"""

import time
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, connection

from kit.db import locks, postgresql

log = structlog.get_logger("sluice.database")

BRIEF = "100ms"
BRIEF_FOR = 2.0  # seconds after the last timeout


class Brevity:
    """Whether this process waits only briefly for locks."""

    def __init__(self) -> None:
        self.until = 0.0  # on the monotonic clock

    def extend(self) -> None:
        self.until = time.monotonic() + BRIEF_FOR

    @property
    def applies(self) -> bool:
        return time.monotonic() < self.until


_brevity = Brevity()


def note(error: Exception) -> None:
    """Record the database error of a request."""
    if locks.is_lock_timeout(error):
        _brevity.extend()


def settle(**_: Any) -> None:
    """Apply the current lock timeout to this thread's connection, if it has one and its session isn't shared."""
    if connection.connection is None:
        return
    if settings.DATABASE_POOLING == "transaction":  # the setting would apply to other processes
        return
    is_brief = _brevity.applies
    if is_brief == getattr(connection.connection, "waits_briefly", False):
        return
    statement = f"SET lock_timeout = '{BRIEF}'" if is_brief else "RESET lock_timeout"
    try:
        postgresql.rows(statement)
    except DatabaseError as error:  # the request will fail with its own error
        log.warning("database unavailable", error=type(error).__name__)
    else:
        connection.connection.waits_briefly = is_brief
