"""A circuit breaker: while a provider is down, requests are refused at once instead of waiting for a time-out.

Each process has one per rail of an account. It opens after calls without an answer, and at once when the provider refuses our account.
While it is open, a harmless call is made once a second, and the first one that is answered closes it. No payment is a probe.
Decision 0091.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol
from weakref import WeakSet

import structlog

from kit.connectors.connector_metrics import BREAKERS_OPEN

log = structlog.get_logger("sluice.connectors")

IN_A_ROW = 5  # calls without an answer that open it
CALLS, WITHIN = 20, 10.0  # it also opens if half of so many calls within so many seconds have no answer
PROBE_INTERVAL = 1.0  # seconds


_breakers: WeakSet["CircuitBreaker"] = WeakSet()  # of this process


class MonotonicClock(Protocol):
    """What the breaker needs of the module `time`."""

    def monotonic(self) -> float: ...


class CircuitBreaker:
    """The breaker of one rail of an account in this process. Thread-safe.

    `probe` makes the harmless call, in a thread of its own, and returns whether the provider answered and accepts our account.
    """

    def __init__(self, connector: str, *, probe: Callable[[], bool]) -> None:
        self.clock: MonotonicClock = time
        self.start: Callable[[Callable[[], None]], None] = _start_thread
        self.connector, self._probe = connector, probe
        self._lock = threading.Lock()
        # When each of the last calls ended, and whether it was answered.
        self._calls: deque[tuple[float, bool]] = deque(maxlen=CALLS)
        self._next_probe: float | None = None  # None while it is closed
        self._has_closed = False  # since that was last asked
        _breakers.add(self)
        BREAKERS_OPEN.labels(connector)  # shows 0

    def allows_calls(self) -> bool:
        """Return whether new requests may be made, without a call. While it is open, this starts the probes."""
        with self._lock:
            if self._next_probe is None:
                return True
            is_probe_due = self.clock.monotonic() >= self._next_probe
            if is_probe_due:
                self._next_probe = self.clock.monotonic() + PROBE_INTERVAL
        if is_probe_due:
            self.start(self._make_probe)
        return self._next_probe is None

    def has_closed(self) -> bool:
        """Return whether it has closed since this was last asked. While it is open, this starts the probes."""
        self.allows_calls()
        with self._lock:
            found, self._has_closed = self._has_closed, False
        return found

    def record(self, *, is_answered: bool) -> None:
        """Count a call. An error of the provider's own (5xx) isn't an answer."""
        with self._lock:
            self._calls.append((self.clock.monotonic(), is_answered))
            if is_answered or self._next_probe is not None or not self._has_failed():
                return
        self.open("calls aren't answered")

    def open(self, reason: str) -> None:
        """Allow no further calls until a probe is answered, such as when the provider refuses our key."""
        with self._lock:
            is_new = self._next_probe is None
            self._next_probe = self._next_probe or self.clock.monotonic() + PROBE_INTERVAL
        if is_new:
            BREAKERS_OPEN.labels(self.connector).inc()
            log.error("no calls to a provider for now", connector=self.connector, reason=reason)

    def _has_failed(self) -> bool:
        answers = [is_answered for _, is_answered in self._calls]
        if len(answers) >= IN_A_ROW and not any(answers[-IN_A_ROW:]):
            return True
        since = self.clock.monotonic() - WITHIN
        recent = [is_answered for ended_at, is_answered in self._calls if ended_at >= since]
        return len(recent) == CALLS and recent.count(False) >= CALLS / 2

    def _make_probe(self) -> None:
        if not self._probe():
            return
        with self._lock:
            if self._next_probe is None:
                return  # another probe was answered first
            self._next_probe, self._has_closed = None, True
            self._calls.clear()
        BREAKERS_OPEN.labels(self.connector).dec()
        log.info("provider answers again", connector=self.connector)


def closed_again() -> set[str]:
    """Return the connectors of which a breaker of this process has closed since this was last asked."""
    return {breaker.connector for breaker in list(_breakers) if breaker.has_closed()}


def _start_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="provider-probe", daemon=True).start()
