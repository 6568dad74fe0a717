"""How long is left until a deadline, in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from kit.text.plurals import counted
from kit.time.durations import in_words

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SOON, NEAR = DAY, 3 * DAY  # shown in hours, as deadlines that are near are answered today


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """The time until a deadline: what is said, and its tone."""

    text: str
    tone: str  # soon, near or far


def time_left(deadline: datetime, *, now: datetime) -> TimeLeft:
    """Return the time left, rounded down.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    >>> [time_left(noon + timedelta(hours=hours), now=noon).text for hours in (-1, 0.5, 1, 31, 100)]
    ['No time left', '30 minutes left', '1 hour left', '31 hours left', '4 days left']
    """
    left = deadline - now
    if left <= timedelta(0):
        return TimeLeft("No time left", "soon")
    words = counted(left // HOUR, "hour") if HOUR <= left <= NEAR else in_words(left)
    tone = "soon" if left < SOON else "near" if left <= NEAR else "far"
    return TimeLeft(f"{words} left", tone)
