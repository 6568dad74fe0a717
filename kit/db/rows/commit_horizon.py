"""The commit horizon, for readers that follow a table by an id that was chosen before its row was committed."""

from __future__ import annotations

from datetime import datetime, timedelta

from kit.db import postgresql

MARGIN = timedelta(seconds=2)  # between choosing an id and the start of its database transaction
ON_SQLITE = timedelta(seconds=5)  # one writer at a time, which may have waited for the lock
LONGEST_WAIT = timedelta(seconds=60)

OLDEST_WRITER = """
    SELECT min(xact_start) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()
"""


def commit_horizon(*, now: datetime) -> datetime:
    """Return a time: rows with older ids are visible or will never be.

    Two exceptions remain: a transaction that is open for more than a minute, and an id chosen more than two seconds
    before its transaction began. A reader that must see those too reads again much later.
    """
    found = postgresql.rows(OLDEST_WRITER)
    if not found:
        return now - ON_SQLITE
    [(oldest,)] = found
    return max(min(oldest or now, now) - MARGIN, now - LONGEST_WAIT)
