"""Moments as merchants read them, in answers and in webhooks."""

from datetime import UTC, datetime, timedelta


def timestamp(moment: datetime) -> str:
    """Return a moment in RFC 3339, UTC, to the millisecond.

    >>> timestamp(datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC))
    '2026-01-01T00:00:05.000Z'
    """
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def whole_millisecond(moment: datetime) -> datetime:
    """Return the first moment that is shown as this one: answers have milliseconds.

    >>> whole_millisecond(datetime(2026, 1, 1, 0, 0, 5, 1_700, tzinfo=UTC))
    datetime.datetime(2026, 1, 1, 0, 0, 5, 1000, tzinfo=datetime.timezone.utc)
    """
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def until_inclusive(moment: datetime) -> datetime:
    """Return the first moment that is shown as later than this one: answers have milliseconds.

    >>> until_inclusive(datetime(2026, 1, 1, 0, 0, 5, 1_700, tzinfo=UTC))
    datetime.datetime(2026, 1, 1, 0, 0, 5, 2000, tzinfo=datetime.timezone.utc)

    The last millisecond of the year 9999 has no successor: its last microsecond stands for it.
    """
    shown = whole_millisecond(moment)
    try:
        return shown + timedelta(milliseconds=1)
    except OverflowError:  # the calendar ends there
        return datetime.max.replace(tzinfo=UTC)
