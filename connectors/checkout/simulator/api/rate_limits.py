"""Checkout.com's limit on calls per second."""

from collections.abc import Callable
from datetime import datetime


class TokenBucket:
    """Allows a number of calls per second, in a burst of one second's calls. Without a number, any."""

    def __init__(self, per_second: float, now: Callable[[], datetime]) -> None:
        self.per_second, self._now = per_second, now
        self._left, self._at = per_second, now()

    def take(self) -> bool:
        """Return whether a call is allowed now."""
        now = self._now()
        refilled = self._left + max(0.0, (now - self._at).total_seconds()) * self.per_second
        self._left, self._at = min(self.per_second, refilled), now
        if self.per_second and self._left < 1:
            return False
        self._left -= 1
        return True
