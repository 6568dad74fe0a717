"""Time-ordered identifiers: UUIDs that sort by their creation time."""

import secrets
import uuid
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def new_id(now: datetime) -> uuid.UUID:
    """Return a UUID of version 7 (RFC 9562): ids sort by their time of creation, to the microsecond."""
    microseconds = (now - EPOCH) // timedelta(
        microseconds=1
    )  # integers, because a float would lose precision
    milliseconds, rest = divmod(microseconds, 1000)
    fraction = rest * 4096 // 1000
    value = milliseconds << 80 | 7 << 76 | fraction << 64 | 2 << 62 | secrets.randbits(62)
    return uuid.UUID(int=value)


def earliest_id(at: datetime) -> uuid.UUID:
    """Return the smallest id of that millisecond. Everything created before has a smaller id.

    >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    >>> new_id(noon - timedelta(milliseconds=1)) < earliest_id(noon) <= new_id(noon)
    True
    """
    return uuid.UUID(int=_milliseconds(at) << 80)


def latest_id(at: datetime) -> uuid.UUID:
    """Return the largest id of that millisecond.

    >>> noon = datetime(2026, 1, 1, 12, 0, 0, 999, tzinfo=UTC)
    >>> new_id(noon) <= latest_id(noon) < new_id(noon + timedelta(microseconds=1))
    True
    """
    return uuid.UUID(int=(_milliseconds(at) + 1 << 80) - 1)


def _milliseconds(at: datetime) -> int:
    """Return the Unix time in milliseconds, at least 0."""
    return max((at - EPOCH) // timedelta(milliseconds=1), 0)
