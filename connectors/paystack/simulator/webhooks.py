"""Events for the merchant: signed, queued, delivered, and repeated until they are answered with 200 [D1, D12]."""

import hashlib
import hmac
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from connectors.paystack.simulator.answers import Document, compact
from connectors.paystack.simulator.tables import RETRIES
from payments.simulators.clock import Clock
from payments.simulators.http_server import status_of

SIGNATURE = "x-paystack-signature"
TIMEOUT = 30  # seconds, of test mode [D12]
OK = 200  # only this status counts [D1]

FAULTS = ("normal", "late", "lost", "twice", "after_next", "forged")  # of an event

Send = Callable[[str, dict[str, str], bytes], int]


@dataclass(slots=True)
class Event:
    name: str
    body: bytes
    signature: str
    due: datetime
    attempts: int = 0
    is_done: bool = False
    statuses: list[int] = field(default_factory=list)  # answers; 0 is no answer

    @property
    def headers(self) -> dict[str, str]:
        signed = {SIGNATURE: self.signature} if self.signature else {}
        return {"Content-Type": "application/json", **signed}


class UnknownWebhookFault(ValueError):
    """The word is no fault of an event."""


class Outbox:
    """Events of one environment, oldest first."""

    def __init__(self, *, key: str, url: str, domain: str, clock: Clock, send: Send | None = None) -> None:
        self.url = url
        self.events: list[Event] = []
        self.plan: deque[str] = deque()  # faults of the next events, one each
        self._key, self._clock, self._retries = key, clock, RETRIES[domain]
        self._send = send or post
        self._held: list[Event] = []  # until the next event
        self._lock = threading.Lock()  # threads deliver at the same time

    def extend_plan(self, words: list[str]) -> None:
        for word in words:
            if word.split()[0] not in FAULTS:
                raise UnknownWebhookFault(f"{word!r} is not one of {', '.join(FAULTS)}")
        self.plan.extend(words)

    def add(self, name: str, data: Document) -> None:
        """Queue an event, with the next planned fault."""
        kind, *seconds = (self.plan.popleft() if self.plan else "normal").split()
        event = self._event(name, data)
        if kind == "late":
            event.due += timedelta(seconds=float(seconds[0]) if seconds else 60)
        if kind == "after_next":
            self._held.append(event)
            return
        copies = {"lost": [], "twice": [event, self._event(name, data)]}.get(kind, [event])
        if kind == "forged":
            copies.insert(0, self.forged(name, data))
        self.events += [*copies, *self._held]
        self._held.clear()

    def forge(self, name: str, data: Document, *, signature: str = "wrong") -> None:
        """Queue an event that Paystack did not send: `wrong` or `none` signature, or `right` with untrue content."""
        self.events.append(self.forged(name, data, signature=signature))

    def forged(self, name: str, data: Document, *, signature: str = "wrong") -> Event:
        event = self._event(name, data)
        if signature != "right":
            event.signature = "" if signature == "none" else signed(b"another key", event.body)
        return event

    def replay(self) -> None:
        """Queue every event once more, newest first."""
        copies = [
            Event(old.name, old.body, old.signature, self._clock.now()) for old in reversed(self.events)
        ]
        self.events += copies

    def deliver(self) -> list[Event]:
        """Send what is due, and return it. Nothing is sent without a URL."""
        return [self._attempt(event) for event in self._take_due()] if self.url else []

    def _take_due(self) -> list[Event]:
        with self._lock:
            now = self._clock.now()
            due = [event for event in self.events if not event.is_done and event.due <= now]
            for event in due:
                event.is_done = True
            return due

    def _attempt(self, event: Event) -> Event:
        event.attempts += 1
        status = self._send(self.url, event.headers, event.body)
        event.statuses.append(status)
        if status != OK and event.attempts <= len(self._retries):
            event.due = self._clock.after(self._retries[event.attempts - 1])
            event.is_done = False
        return event

    def _event(self, name: str, data: Document) -> Event:
        body = compact({"event": name, "data": data})
        return Event(name, body, signed(self._key.encode(), body), self._clock.now())


def signed(key: bytes, body: bytes) -> str:
    """Return the lower-case hexadecimal HMAC-SHA512 of a body [D1]."""
    return hmac.new(key, body, hashlib.sha512).hexdigest()


def post(url: str, headers: dict[str, str], body: bytes) -> int:
    """Send an event, and return the status of the answer, or 0 without one."""
    return status_of(url, headers, body, timeout=TIMEOUT)
