"""Waiting polls of this process: how many may wait at once, and when a wait ends.

A waiting poll holds a web thread, so at most a quarter of a process's threads wait. The web worker says how many threads
there are, and when the process was told to stop.
"""

import threading
import time
from collections.abc import Callable
from enum import Enum, auto

LOOK_EVERY = 0.25  # seconds
SHARE = 4  # one thread in so many may wait, and at least one


class Wait(Enum):
    """How a wait ended."""

    FOUND = auto()
    TIMED_OUT = auto()
    TURNED_AWAY = (
        auto()
    )  # no thread may wait, the process is stopping, or the same listener began another wait


class Waits:
    """The waiting polls of a process, by the key of their listener."""

    def __init__(self, *, threads: int = SHARE) -> None:
        self._lock = threading.Lock()
        self._current: dict[int, object] = {}  # of each listener, its newest wait
        self._waiting = 0
        self._is_stopping = False
        self.allow(threads)

    def allow(self, threads: int) -> None:
        """Let a quarter of this number of threads wait, and at least one."""
        self._most = max(threads // SHARE, 1)

    def stop(self) -> None:
        """End all waits at their next look. Takes no lock, because a signal handler calls it."""
        self._is_stopping = True

    def until(
        self,
        is_there: Callable[[], bool],
        *,
        listener: int,
        seconds: float,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> Wait:
        """Look until something is there, and return how the wait ended.

        Another wait of the same listener ends this one: its client has given up on this connection, or was replaced.
        """
        if is_there():
            return Wait.FOUND
        if not seconds:
            return Wait.TIMED_OUT
        ticket = object()
        if not self._begin(listener, ticket):
            return Wait.TURNED_AWAY
        try:
            deadline = now() + seconds
            while (left := deadline - now()) > 0:
                sleep(min(LOOK_EVERY, left))
                if is_there():
                    return Wait.FOUND
                if self._is_stopping or self._current.get(listener) is not ticket:
                    return Wait.TURNED_AWAY
            return Wait.TIMED_OUT
        finally:
            self._end(listener, ticket)

    def _begin(self, listener: int, ticket: object) -> bool:
        with self._lock:
            self._current.pop(listener, None)
            if self._is_stopping or self._waiting >= self._most:
                return False
            self._waiting += 1
            self._current[listener] = ticket
            return True

    def _end(self, listener: int, ticket: object) -> None:
        with self._lock:
            self._waiting -= 1
            if self._current.get(listener) is ticket:
                del self._current[listener]


waits = Waits()  # of this process
