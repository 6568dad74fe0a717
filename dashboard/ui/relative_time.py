"""Relative times, such as "3 minutes ago".

>>> from datetime import UTC
>>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
>>> distance(noon - timedelta(minutes=3), now=noon), distance(noon + timedelta(hours=5), now=noon)
('3 minutes ago', 'in 5 hours')
>>> distance(noon - timedelta(seconds=1), now=noon), distance(noon + timedelta(days=1), now=noon)
('1 second ago', 'in 1 day')
"""

from datetime import datetime, timedelta

UNITS = (
    (timedelta(days=365), "year"),
    (timedelta(days=30), "month"),
    (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"),
    (timedelta(minutes=1), "minute"),
    (timedelta(seconds=1), "second"),
)


def distance(at: datetime, *, now: datetime) -> str:
    difference = abs(at - now)
    for unit, name in UNITS:
        count = difference // unit
        if count:
            plural = "" if count == 1 else "s"
            return f"in {count} {name}{plural}" if at > now else f"{count} {name}{plural} ago"
    return "now"
