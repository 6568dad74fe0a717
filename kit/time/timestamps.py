"""Timestamps in API responses and webhooks."""

from datetime import UTC, datetime, timedelta


def timestamp(moment: datetime) -> str:
    """Format a time as RFC 3339 in UTC, to the millisecond.

    >>> timestamp(datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC))
    '2026-01-01T00:00:05.000Z'
    """
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parsed_moment(text: object) -> datetime | None:
    """Parse a time from another system. Return None if it can't be read. Without a time zone it is in UTC.

    >>> parsed_moment("2026-01-01T00:00:05Z"), parsed_moment("soon")
    (datetime.datetime(2026, 1, 1, 0, 0, 5, tzinfo=datetime.timezone.utc), None)
    """
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment


def whole_millisecond(moment: datetime) -> datetime:
    """Truncate a time to the millisecond, the precision of responses.

    >>> whole_millisecond(datetime(2026, 1, 1, 0, 0, 5, 1_700, tzinfo=UTC))
    datetime.datetime(2026, 1, 1, 0, 0, 5, 1000, tzinfo=datetime.timezone.utc)
    """
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def until_inclusive(moment: datetime) -> datetime:
    """Return the start of the next millisecond, the first time that is shown as later.

    >>> until_inclusive(datetime(2026, 1, 1, 0, 0, 5, 1_700, tzinfo=UTC))
    datetime.datetime(2026, 1, 1, 0, 0, 5, 2000, tzinfo=datetime.timezone.utc)

    The last millisecond of the year 9999 has no successor, so its last microsecond is returned.
    """
    shown = whole_millisecond(moment)
    try:
        return shown + timedelta(milliseconds=1)
    except OverflowError:  # the calendar ends there
        return datetime.max.replace(tzinfo=UTC)
