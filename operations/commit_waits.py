"""Commits that wait for a synchronous standby. While it is lost they wait without end, and no timeout applies."""

from kit.db import postgresql

# A role sees the waits of its own sessions without further privileges, but not the states of standbys.
LONGEST = """
    SELECT coalesce(extract(epoch FROM max(clock_timestamp() - query_start)), 0)::float
    FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep'
"""


def longest_commit_wait() -> float:
    """Return for how many seconds the oldest of these commits has waited; 0 if none waits."""
    return float(sum(seconds for (seconds,) in postgresql.rows(LONGEST)))
