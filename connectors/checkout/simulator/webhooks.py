"""Events, the workflows that say where they are sent, and their signed deliveries.

A delivery that isn't answered with 2xx within ten seconds is repeated up to eight times.
"""

import hmac
import json
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from connectors.checkout.simulator.control.faults import WebhookFault
from connectors.checkout.simulator.state import Account, Document, timestamp
from payments.simulators.http_server import status_of

REPEATS = (300, 600, 900, 1800, 3600, 14400, 43200, 43200)  # seconds after the attempt before
ANSWER_WITHIN = 10  # seconds
LONGEST_SWAP = timedelta(minutes=1)
OPPOSITES = {"payment_approved": "payment_declined", "payment_declined": "payment_approved"}
Headers = dict[str, str]
Sender = Callable[
    [str, Headers, bytes], int
]  # address, headers, body; returns the status, 0 without an answer


def signature(key: str, body: bytes) -> str:
    """Return the value of `Cko-Signature`.

    >>> signature("key", b"{}")[:16]
    'a777724d943eb48d'
    """
    return hmac.digest(key.encode(), body, "sha256").hex()


def send(url: str, headers: Headers, body: bytes) -> int:
    """Deliver an event over HTTP. Returns 0 if there is no answer."""
    return status_of(url, headers, body, timeout=ANSWER_WITHIN)


@dataclass(slots=True)
class Workflow:
    """Where events are sent, and the key that they are signed with."""

    id: str
    url: str
    key: str


@dataclass(slots=True)
class Event:
    id: str
    type: str
    subject: str
    document: Document


@dataclass(slots=True)
class Delivery:
    event: Event
    workflow: Workflow
    body: bytes
    due: datetime
    is_signed: bool = True
    is_early: bool = False
    is_forged: bool = False
    attempts: list[int] = field(default_factory=list)  # statuses

    @property
    def headers(self) -> Headers:
        headers = {"Content-Type": "application/json; charset=utf-8"}
        key = "a-key-that-is-not-the-workflows" if self.is_forged else self.workflow.key
        if self.is_signed:
            headers["Cko-Signature"] = signature(key, self.body)
        return headers


class Outbox:
    """The events of an account and their deliveries."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self.workflows: list[Workflow] = []
        self.events: list[Event] = []
        self.plan: deque[WebhookFault] = deque()  # faults of the next deliveries
        self._waiting: list[Delivery] = []
        self._swapped: list[Delivery] = []  # queued behind the next one

    def notify(self, url: str, key: str) -> Workflow:
        """Add a workflow that sends every event to an address."""
        workflow = Workflow(self._account.new_id("wf"), url, key)
        self.workflows.append(workflow)
        return workflow

    def publish(self, kind: str, *, subject: str, data: Document) -> None:
        event_id = self._account.new_id("evt")
        links = {
            "self": self._account.link("workflows", "events", event_id),
            "subject": self._account.link("workflows", "events", "subject", subject),
        }
        is_capture = kind == "payment_captured"  # its published sample has another name for the time
        document = {
            "id": event_id,
            "type": kind,
            "version": "1.0.29",
            "timestamp" if is_capture else "created_on": timestamp(self._account.clock.now()),
            "data": data,
        }
        if not is_capture or self._account.variants.captured_links == "present":
            document["_links"] = links
        event = Event(event_id, kind, subject, document)
        self.events.append(event)
        self._enqueue(event)

    def _enqueue(self, event: Event) -> None:
        for workflow in self.workflows:
            fault = self.plan.popleft() if self.plan else WebhookFault()
            self._queue(self._delivery(event, workflow, fault), fault)

    def _delivery(self, event: Event, workflow: Workflow, fault: WebhookFault) -> Delivery:
        document = event.document
        if fault.word == "no_reference":
            data = {name: value for name, value in document["data"].items() if "reference" not in name}
            document = document | {"data": data}
        wait = fault.seconds if fault.word == "late" else self._account.delays.webhook
        return Delivery(
            event,
            workflow,
            json.dumps(document).encode(),
            self._account.clock.after(wait),
            is_signed=fault.word != "unsigned",
            is_early=fault.word == "early",
        )

    def _queue(self, delivery: Delivery, fault: WebhookFault) -> None:
        match fault.word:
            case "lose":
                return
            case "swap":
                self._swapped.append(delivery)
                return
            case "twice":
                queued = [delivery, self._delivery(delivery.event, delivery.workflow, WebhookFault())]
            case "forged":
                queued = [delivery, self._forged(delivery)]
            case _:
                queued = [delivery]
        self._waiting += [*queued, *self._swapped]
        self._swapped = []

    def _forged(self, delivery: Delivery) -> Delivery:
        """Return a delivery of an event that never happened."""
        document = delivery.event.document
        kind = OPPOSITES.get(document["type"], document["type"])
        data = document["data"] | {"response_code": "10000", "amount": 1}
        forged = document | {"id": self._account.new_id("evt"), "type": kind, "data": data}
        body = json.dumps(forged).encode()
        return Delivery(delivery.event, delivery.workflow, body, delivery.due, is_forged=True)

    def take(self, *, early: bool = False, shuffle: random.Random | None = None) -> list[Delivery]:
        """Remove and return the deliveries that are due, or those that precede the answer."""
        now = self._account.clock.now()
        if self._swapped and self._swapped[0].due + LONGEST_SWAP <= now:  # nothing followed
            self._waiting += self._swapped
            self._swapped = []
        due = [(one.due <= now and (one.is_early or not early), one) for one in self._waiting]
        taken = [one for is_due, one in due if is_due]
        self._waiting = [one for is_due, one in due if not is_due]
        if shuffle:
            shuffle.shuffle(taken)
        return taken

    def record(self, delivery: Delivery, status: int) -> None:
        """Store an attempt, and queue the next one if it failed."""
        delivery.attempts.append(status)
        if not 200 <= status < 300 and len(delivery.attempts) <= len(REPEATS):  # noqa: PLR2004
            delivery.due = self._account.clock.after(REPEATS[len(delivery.attempts) - 1])
            self._waiting.append(delivery)

    @property
    def waiting(self) -> int:
        return len(self._waiting) + len(self._swapped)
