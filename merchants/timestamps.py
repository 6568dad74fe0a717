"""Moments as merchants read them, in answers and in webhooks."""

from datetime import UTC, datetime


def timestamp(moment: datetime) -> str:
    """Return a moment in RFC 3339, UTC, to the millisecond.

    >>> timestamp(datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC))
    '2026-01-01T00:00:05.000Z'
    """
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
