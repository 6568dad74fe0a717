"""Durations and relative times in words: "1 hour 30 minutes", "3 minutes ago".

Browsers update relative times with `Intl.RelativeTimeFormat` (`static/js/times.js`). Units and rounding are the same
here, so that the text of a page doesn't change when its script starts.
"""

from datetime import datetime, timedelta

from kit.text.plurals import counted

SECOND = timedelta(seconds=1)
UNITS = (
    (timedelta(days=365), "year"),
    (timedelta(days=30), "month"),
    (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"),
    (timedelta(minutes=1), "minute"),
    (SECOND, "second"),
)
WITH_TENTHS = 10 * SECOND


def in_words(length: timedelta, *, parts: int = 1) -> str:
    """Return a duration in its largest unit, rounded down. With more parts, smaller units follow.

    >>> in_words(timedelta(minutes=90)), in_words(timedelta(hours=18)), in_words(timedelta(days=1))
    ('1 hour', '18 hours', '1 day')
    >>> in_words(timedelta(minutes=90), parts=2), in_words(timedelta(hours=18), parts=2)
    ('1 hour 30 minutes', '18 hours')

    Below ten seconds, tenths are kept: retry delays of a sandbox are that short.

    >>> in_words(timedelta(seconds=1.5)), in_words(timedelta(seconds=1)), in_words(timedelta(0))
    ('1.5 seconds', '1 second', '0 seconds')
    """
    length = max(length, timedelta(0))  # clocks differ
    if length < WITH_TENTHS and length % SECOND:
        return f"{length / SECOND:.1f} seconds"
    words: list[str] = []
    for unit, name in UNITS:
        count, length = divmod(length, unit)
        if count:
            words.append(counted(count, name))
        elif words:
            break
    return " ".join(words[:parts]) or "0 seconds"


def range_in_words(shortest: timedelta, longest: timedelta) -> str:
    """Return a range of durations.

    >>> range_in_words(timedelta(minutes=30), timedelta(minutes=90))
    '30 minutes to 1 hour 30 minutes'
    """
    return f"{in_words(shortest, parts=2)} to {in_words(longest, parts=2)}"


def relative(at: datetime, *, now: datetime) -> str:
    """Return a time relative to now, in one unit, rounded down.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    >>> relative(noon - timedelta(seconds=200), now=noon), relative(noon + timedelta(hours=5), now=noon)
    ('3 minutes ago', 'in 5 hours')
    >>> relative(noon - timedelta(seconds=1.5), now=noon), relative(noon + timedelta(days=1), now=noon)
    ('1 second ago', 'in 1 day')
    >>> relative(noon + timedelta(seconds=0.4), now=noon)
    'now'
    """
    distance = abs(at - now) // SECOND * SECOND
    if not distance:
        return "now"
    return f"in {in_words(distance)}" if at > now else f"{in_words(distance)} ago"
