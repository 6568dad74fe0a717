"""Time zones that a business may use, and their days.

Totals are kept per UTC hour, so only zones whose offset is a whole number of hours are offered.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from django.core.exceptions import ValidationError

DEFAULT = "Africa/Lagos"
# The places of the tz database. Its other names are aliases or fixed offsets.
AREAS = (
    "Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific",
)  # fmt: skip
HOUR = timedelta(hours=1)
# Offsets are checked once a month in these years: daylight saving time lasts longer than that.
CHECKED_YEARS = range(2025, 2031)


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """Return the names of the zones with whole-hour offsets.

    >>> [name in names() for name in ("Africa/Lagos", "Europe/London", "UTC", "Asia/Kolkata", "Australia/Lord_Howe")]
    [True, True, True, False, False]
    """
    places = (name for name in available_timezones() if name.split("/")[0] in AREAS)
    return ("UTC", *sorted(name for name in places if _has_whole_hours(ZoneInfo(name))))


def validate(name: str) -> None:
    if name not in names():
        raise ValidationError("Choose a time zone from the list.")


def zone_of(name: str) -> ZoneInfo:
    """Return a stored zone; the default one if this host's tz database doesn't have it."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo(DEFAULT)


def labelled(name: str, *, at: datetime) -> str:
    """Return a zone's name with its offset.

    >>> summer, winter = datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    >>> labelled("Europe/London", at=summer), labelled("Europe/London", at=winter), labelled("UTC", at=winter)
    ('Europe/London (UTC+1)', 'Europe/London (UTC+0)', 'UTC')
    """
    hours = (at.astimezone(ZoneInfo(name)).utcoffset() or timedelta(0)) // HOUR
    if name == "UTC":
        return name
    return f"{name.replace('_', ' ')} (UTC{'−' if hours < 0 else '+'}{abs(hours)})"  # noqa: RUF001  (a minus)


def day_begins(day: date, zone: ZoneInfo) -> datetime:
    """Return the first moment of a day, in UTC. A day has 23 or 25 hours when the clocks change.

    >>> london = ZoneInfo("Europe/London")
    >>> [str(day_begins(date(2026, 3, 29), london)), str(day_begins(date(2026, 3, 30), london))]
    ['2026-03-29 00:00:00+00:00', '2026-03-29 23:00:00+00:00']

    Where the clocks change at midnight, the day begins at 01:00.

    >>> str(day_begins(date(2026, 9, 6), ZoneInfo("America/Santiago")))
    '2026-09-06 04:00:00+00:00'
    """
    return datetime.combine(day, time(), tzinfo=zone).astimezone(UTC)


def _has_whole_hours(zone: ZoneInfo) -> bool:
    return all(
        (month.astimezone(zone).utcoffset() or timedelta(0)) % HOUR == timedelta(0) for month in _months()
    )


def _months() -> Iterator[datetime]:
    for year in CHECKED_YEARS:
        for month in range(1, 13):
            yield datetime(year, month, 1, tzinfo=UTC)
