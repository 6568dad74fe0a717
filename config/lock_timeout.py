"""How long a request waits for a lock: hardly at all, for a while, once one has waited in vain.

Whoever holds a lock that most requests need would have every thread of this process wait out the whole
`DATABASE_LOCK_TIMEOUT`, again and again, and a queue would grow behind them in which also those stand that need
no such lock. So the first that has waited in vain speaks for all: as long as that goes on, locks are waited
for briefly, and threads are free again at once.
"""

import time
from typing import Any

import structlog
from django.db import DatabaseError, connection

from kit.db import locks

log = structlog.get_logger("sluice.database")

BRIEF = "100ms"
CALM_AFTER = 2.0  # seconds after the last wait in vain

_impatient_until = 0.0


def note(error: Exception) -> None:
    """Take note of a database error that a request ended with."""
    global _impatient_until  # noqa: PLW0603  (a fact about the process)
    if locks.is_lock_timeout(error):
        _impatient_until = time.monotonic() + CALM_AFTER


def settle(**_: Any) -> None:
    """Let this thread's connection, if it has one, wait for locks as long as is right now."""
    if connection.vendor != "postgresql" or connection.connection is None:
        return
    is_brief = time.monotonic() < _impatient_until
    if is_brief == getattr(connection.connection, "waits_briefly", False):
        return
    statement = f"SET lock_timeout = '{BRIEF}'" if is_brief else "RESET lock_timeout"
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
    except DatabaseError as error:  # the request will find out for itself
        log.warning("the database is away", error=type(error).__name__)
    else:
        connection.connection.waits_briefly = is_brief
