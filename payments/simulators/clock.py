"""A simulator's clock, which tests can move, and what is to happen later by it."""

import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class Clock:
    """The system's time plus what was advanced, or a time that stands still until it is advanced."""

    def __init__(self, standing_at: datetime | None = None) -> None:
        self._standing_at = standing_at
        self._advanced = timedelta()
        self.pinned_at: datetime | None = None  # while an action runs that was due earlier

    def now(self) -> datetime:
        return self.pinned_at or (self._standing_at or datetime.now(UTC)) + self._advanced

    def after(self, seconds: float) -> datetime:
        return self.now() + timedelta(seconds=seconds)

    def advance(self, seconds: float) -> None:
        self._advanced += timedelta(seconds=seconds)


class Schedule:
    """Actions by the time at which they are due."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._order = itertools.count()
        self._actions: list[tuple[datetime, int, Callable[[], None]]] = []

    def add(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._actions, (self._clock.after(seconds), next(self._order), action))

    def run_due(self) -> None:
        """Run each action at the time at which it was due, so that what follows from it isn't late either."""
        while self._clock.pinned_at is None and self._actions and self._actions[0][0] <= self._clock.now():
            due, _, action = heapq.heappop(self._actions)
            self._clock.pinned_at = due
            try:
                action()
            finally:
                self._clock.pinned_at = None
