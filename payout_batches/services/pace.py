"""The pace of calls: evenly at a rate. What a stall has delayed is made up for, but no second has more calls than the rate."""

from collections import deque


class Pace:
    """When the next call may begin, on a clock of seconds.

    >>> pace = Pace(2, now=0.0)
    >>> pace.after(0.0), pace.after(3.0), pace.after(3.1), pace.after(4.0)  # a stall of 2.5 seconds
    (0.5, 1.0, 4.0, 4.5)
    """

    def __init__(self, rate: int, *, now: float) -> None:
        """`rate`: calls a second."""
        self._interval = 1 / rate
        self._due = now
        self._last: deque[float] = deque(maxlen=rate)

    def after(self, call: float) -> float:
        """Note when a call began, and return when the next one may."""
        self._last.append(call)
        self._due += self._interval
        if len(self._last) == self._last.maxlen:
            self._due = max(self._due, self._last[0] + 1)
        return self._due
