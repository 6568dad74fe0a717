"""Business days: a payment belongs to the day on which it succeeded, in Lagos time.

>>> from datetime import UTC
>>> business_day(datetime(2026, 3, 1, 22, 59, tzinfo=UTC)).isoformat()
'2026-03-01'
>>> business_day(datetime(2026, 3, 1, 23, 0, tzinfo=UTC)).isoformat()
'2026-03-02'
>>> begins_at(date(2026, 3, 2)).astimezone(UTC).isoformat()
'2026-03-01T23:00:00+00:00'
"""

import re
from datetime import MAXYEAR, MINYEAR, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

TIME_ZONE = ZoneInfo("Africa/Lagos")
FORM = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


def business_day(moment: datetime) -> date:
    return moment.astimezone(TIME_ZONE).date()


def begins_at(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=TIME_ZONE)


def day_after(day: date) -> date:
    return day + timedelta(days=1)


def last_business_day(now: datetime) -> date:
    """Return the last complete business day."""
    return business_day(now) - timedelta(days=1)


def read_day(text: str) -> date | None:
    """Parse an ISO date. Returns None if the text is invalid, or at an end of the calendar: a day has one before and after.

    >>> read_day("2026-01-31").isoformat(), read_day("2026-02-30"), read_day("20260131"), read_day("9999-12-31")
    ('2026-01-31', None, None, None)
    """
    try:
        read = datetime.strptime(text, "%Y-%m-%d").date() if FORM.fullmatch(text) else None  # noqa: DTZ007
    except ValueError:
        return None
    return read if read and MINYEAR < read.year < MAXYEAR else None
