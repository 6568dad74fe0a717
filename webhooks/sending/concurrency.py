"""How many requests a business's endpoints may have in flight, and how many of them are retries.

Each business has eight places. The last two are reserved for first attempts. An endpoint is silent while a request
to it has been unanswered for a second, or if its last request timed out. A silent endpoint has only the two
reserved places, and one retry when nothing else is in flight.

With several endpoints, the eight places are those of the business. A silent endpoint has a share of them, and the last
one is for an endpoint that has none: `leases` keeps it free.

Each process counts its own requests (decision 0038), so the leases of a killed worker take no places elsewhere.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

PER_BUSINESS = 8
FOR_FIRST_ATTEMPTS = 2  # of these places, those that no retry takes
SLOW_AFTER = 1.0  # seconds without an answer


Key = tuple[UUID, int]  # an endpoint: its business and its number


class Places(NamedTuple):
    """The free places of a business or an endpoint: for first attempts, for retries, and for both together."""

    first_attempts: int
    retries: int
    total: int


class Share(NamedTuple):
    """The free places of one of several endpoints, and whether it has a request in flight."""

    places: Places
    is_busy: bool


ALL_FREE = Places(PER_BUSINESS, PER_BUSINESS - FOR_FIRST_ATTEMPTS, PER_BUSINESS)


@dataclass(frozen=True, slots=True)
class Request:
    """A request in flight. The time is that of the monotonic clock, in seconds."""

    started_at: float
    is_first: bool
    number: int  # of the endpoint


class InFlight:
    """Unanswered requests of a dispatcher, by business. A process has one dispatcher.

    An endpoint whose last request timed out counts as silent until it answers.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._requests: dict[UUID, dict[UUID, Request]] = defaultdict(dict)
        self._silent: set[Key] = set()
        self._endpoints: dict[UUID, int] = {}  # enabled ones, of businesses with several
        self._clock = clock
        self._lock = threading.Lock()

    def begin(
        self, business: UUID, delivery: UUID, *, is_first: bool, number: int = 0, endpoints: int = 1
    ) -> None:
        """Note a request to an endpoint of a business that has so many enabled ones."""
        with self._lock:
            self._requests[business][delivery] = Request(self._clock(), is_first, number)
            if endpoints > 1 or number > 0:
                self._endpoints[business] = max(endpoints, 1)
            elif self._endpoints:
                self._endpoints.pop(business, None)

    def end(self, business: UUID, delivery: UUID) -> None:
        with self._lock:
            self._requests[business].pop(delivery, None)
            if not self._requests[business]:
                del self._requests[business]

    def note_answer(self, business: UUID, *, timed_out: bool, number: int = 0) -> None:
        with self._lock:
            (self._silent.add if timed_out else self._silent.discard)((business, number))

    def free(self) -> dict[UUID, Places]:
        """Return the free places of each business that has fewer than all. A single endpoint's are its business's."""
        with self._lock:
            silent_since, several = self._clock() - SLOW_AFTER, self._endpoints
            idle: dict[UUID, dict[UUID, Request]] = {
                business: {} for business, number in self._silent if number == 0 and business not in several
            }
            return {
                business: _free(
                    requests.values(),
                    silent_keeps=None
                    if several and business in several  # a hash of each UUID takes time
                    else self._kept_by((business, 0), requests.values(), silent_since),
                )
                for business, requests in (idle | self._requests).items()
            }

    def shares(self) -> dict[Key, Share]:
        """Return the shares of the endpoints of businesses with several, where they are busy or silent."""
        with self._lock:
            silent_since = self._clock() - SLOW_AFTER
            requests: dict[Key, list[Request]] = {
                endpoint: [] for endpoint in self._silent if endpoint[0] in self._endpoints
            }
            for business in self._endpoints.keys() & self._requests:
                for request in self._requests[business].values():
                    requests.setdefault((business, request.number), []).append(request)
            return {
                endpoint: Share(
                    _free(own, silent_keeps=self._kept_by(endpoint, own, silent_since)), is_busy=bool(own)
                )
                for endpoint, own in requests.items()
            }

    def _kept_by(self, endpoint: Key, requests: Collection[Request], silent_since: float) -> int | None:
        """Return how many places an endpoint keeps beside these requests, or None if it isn't silent."""
        business, number = endpoint
        is_silent = endpoint in self._silent or any(
            each.started_at < silent_since and each.number == number for each in requests
        )
        return share_of_silent(self._endpoints.get(business, 1)) if is_silent else None


def share_of_silent(endpoints: int) -> int:
    """Return how many places a silent endpoint of a business keeps for first attempts.

    >>> [share_of_silent(endpoints) for endpoints in (1, 4, 5, 8, 10)]
    [2, 2, 1, 1, 1]
    """
    return max(1, min(FOR_FIRST_ATTEMPTS, PER_BUSINESS // endpoints))


def _free(requests: Collection[Request], *, silent_keeps: int | None) -> Places:
    """Return the free places beside these requests. A silent endpoint, which keeps so many, gets one retry when idle."""
    first_attempts = sum(request.is_first for request in requests)
    if silent_keeps is not None:
        left = max(silent_keeps - first_attempts, 0)
        return Places(left, int(not requests), left)
    left = max(PER_BUSINESS - len(requests), 0)
    retries = ALL_FREE.retries - (len(requests) - first_attempts)
    return Places(left, min(max(retries, 0), left), left)
