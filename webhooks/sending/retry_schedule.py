"""Retry schedule of deliveries.

There are eight attempts. Each delay is its base delay with jitter, counted from the end of the previous attempt.

>>> [str(delay_before(attempt, jitter=0)) for attempt in (1, 2, 8)]
['0:00:00', '0:00:30', '12:00:00']
>>> str(delay_before(3, jitter=-0.5)), delay_before(9, jitter=0)
('0:01:00', None)
"""

from collections.abc import Sequence
from datetime import timedelta

BASE_DELAYS = (
    timedelta(0),
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(minutes=30),
    timedelta(hours=1),
    timedelta(hours=4),
    timedelta(hours=12),
)
JITTER = 0.5  # each delay is drawn from base x [1 - JITTER, 1 + JITTER]


def delays_of(seconds: Sequence[int]) -> tuple[timedelta, ...]:
    """Return the delays set by `WEBHOOK_RETRY_DELAYS` (in seconds), or the base delays if it is empty.

    >>> [str(delay) for delay in delays_of([0, 5])], delays_of([]) == BASE_DELAYS
    (['0:00:00', '0:00:05'], True)
    """
    return tuple(timedelta(seconds=each) for each in seconds) or BASE_DELAYS


def delay_before(
    attempt: int, *, jitter: float, delays: Sequence[timedelta] = BASE_DELAYS
) -> timedelta | None:
    """Return the delay before an attempt (counted from 1), or None if no attempt is left."""
    if attempt > len(delays):
        return None
    return delays[attempt - 1] * (1 + jitter)
