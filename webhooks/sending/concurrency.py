"""How many requests a business's endpoint may have in flight, and how many of them are retries.

Each business has eight places. The last two are reserved for first attempts. An endpoint is silent while a request
to it has been unanswered for a second, or if its last request timed out. A silent endpoint has only the two
reserved places, and one retry when nothing else is in flight.

Each process counts its own requests (decision 0038), so the leases of a killed worker take no places elsewhere.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

PER_BUSINESS = 8
FOR_FIRST_ATTEMPTS = 2  # of these places, those that no retry takes
SLOW_AFTER = 1.0  # seconds without an answer


class Places(NamedTuple):
    """The free places of a business: for first attempts, for retries, and for both together."""

    first_attempts: int
    retries: int
    total: int


ALL_FREE = Places(PER_BUSINESS, PER_BUSINESS - FOR_FIRST_ATTEMPTS, PER_BUSINESS)


@dataclass(frozen=True, slots=True)
class Request:
    """A request in flight. The time is that of the monotonic clock, in seconds."""

    started_at: float
    is_first: bool


class InFlight:
    """Unanswered requests of a dispatcher, by business. A process has one dispatcher.

    An endpoint whose last request timed out counts as silent until it answers.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._requests: dict[UUID, dict[UUID, Request]] = defaultdict(dict)
        self._silent: set[UUID] = set()
        self._clock = clock
        self._lock = threading.Lock()

    def begin(self, business: UUID, delivery: UUID, *, is_first: bool) -> None:
        with self._lock:
            self._requests[business][delivery] = Request(self._clock(), is_first)

    def end(self, business: UUID, delivery: UUID) -> None:
        with self._lock:
            self._requests[business].pop(delivery, None)
            if not self._requests[business]:
                del self._requests[business]

    def note_answer(self, business: UUID, *, timed_out: bool) -> None:
        with self._lock:
            (self._silent.add if timed_out else self._silent.discard)(business)

    def free(self) -> dict[UUID, Places]:
        """Return the free places of each business that has fewer than all."""
        silent_since = self._clock() - SLOW_AFTER
        with self._lock:
            free = dict.fromkeys(self._silent, _QUIET)
            for business, requests in self._requests.items():
                is_silent = business in self._silent or any(
                    request.started_at < silent_since for request in requests.values()
                )
                free[business] = _free(list(requests.values()), is_silent=is_silent)
        return free


_QUIET = Places(FOR_FIRST_ATTEMPTS, 1, FOR_FIRST_ATTEMPTS)  # a silent endpoint with no request in flight


def _free(requests: list[Request], *, is_silent: bool) -> Places:
    first_attempts = sum(request.is_first for request in requests)
    if is_silent:
        left = max(FOR_FIRST_ATTEMPTS - first_attempts, 0)
        return Places(left, 0, left)
    left = max(PER_BUSINESS - len(requests), 0)
    retries = ALL_FREE.retries - (len(requests) - first_attempts)
    return Places(left, min(max(retries, 0), left), left)
