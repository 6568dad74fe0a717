"""The simulated Checkout.com: answers calls without a socket, and delivers webhooks.

>>> simulator = Simulator()
>>> simulator.handle("GET", "/payments?reference=x", {"Authorization": f"Bearer {simulator.identity.secret_key}"}, b"").status
200
"""

import json
import random
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from connectors.checkout.simulator import tables
from connectors.checkout.simulator.api import documents
from connectors.checkout.simulator.api.calls import Call, Calls, call_of
from connectors.checkout.simulator.api.rate_limits import TokenBucket
from connectors.checkout.simulator.api.responses import Refused, Response
from connectors.checkout.simulator.control.faults import CUTS, LOST, CallFault, Plan
from connectors.checkout.simulator.control.settings import Identity
from connectors.checkout.simulator.disputes import DisputeDesk
from connectors.checkout.simulator.money import Books
from connectors.checkout.simulator.pages import PayerPages
from connectors.checkout.simulator.payments import Processor
from connectors.checkout.simulator.state import Account, Action, Document, Payment
from connectors.checkout.simulator.webhooks import Delivery, Outbox, Sender, send
from payments.simulators.clock import Clock
from payments.simulators.fault_injection import FaultKind

JSON = "application/json; charset=utf-8"
VERSION = "2.0.0"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class AnswerLost(TimeoutError):
    """The caller doesn't get an answer, or not in time."""


class AnswerCut(ConnectionResetError):
    """The connection ends before the whole answer."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The answer to a call with an idempotency key."""

    answer: Answer
    body: bytes
    until: datetime


class Simulator:
    """An account at Checkout.com. Thread-safe."""

    def __init__(
        self,
        *,
        identity: Identity | None = None,
        base_url: str = "http://127.0.0.1:8590",
        clock: Clock | None = None,
        sender: Sender = send,
        seed: str = "",
        calls_per_second: float = 0,
    ) -> None:
        self.identity, self.clock = identity or Identity(), clock or Clock()
        self.account = Account(identity=self.identity, clock=self.clock, base_url=base_url, seed=seed)
        self.plan = Plan()
        self.outbox = Outbox(self.account)
        self.ledger = Books(self.account)
        self.processor = Processor(self.account, self._publish, self.ledger.book)
        self.disputes = DisputeDesk(self.account, self.ledger, self.outbox)
        self.pages = PayerPages(self.account, self.processor)
        self.received: list[tuple[str, str]] = []  # operations and idempotency keys
        self._calls = Calls(
            self.account,
            processor=self.processor,
            desk=self.disputes,
            pages=self.pages,
            books=self.ledger,
        )
        self._sender = sender
        self.lock = threading.RLock()
        self._kept: dict[tuple[str, str], _Kept] = {}
        self._running: dict[tuple[str, str], datetime] = {}  # keys of calls that aren't answered yet
        self.limit_calls(calls_per_second)

    def limit_calls(self, per_second: float) -> None:
        """Limit reads and writes, each to a number per second, or not at all with 0."""
        self._reads, self._writes = (TokenBucket(per_second, self.clock.now) for _ in range(2))

    # Calls

    def handle(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """Answer a call as a client sees it. Faults that delay take no time here.

        A call that arrives after the client has stopped waiting is executed once the clock has passed its arrival.

        :raises AnswerLost: a fault loses the answer, or delays it for longer than the client waits
        :raises AnswerCut: a fault ends the connection
        """
        call = call_of(method, path, headers, body)
        fault = self._planned(call)
        kind, is_late = fault.fault.kind, fault.seconds > self.account.delays.patience
        if kind is FaultKind.ARRIVE_LATE and is_late:
            with self.lock:
                self.account.schedule.add(fault.seconds, lambda: self._execute(call, CallFault()) and None)
            raise AnswerLost(call.name)
        answer = self._answer(call, fault)
        if kind in CUTS:
            raise AnswerCut(call.name)
        if kind is FaultKind.GARBAGE:
            return answer._replace(body=garbled(answer.body))
        if kind in LOST or is_late:
            raise AnswerLost(call.name)
        return answer

    def exchange(self, call: Call, *, wait: Callable[[float], Any]) -> tuple[Answer, CallFault]:
        """Answer a call for a server, which injects what concerns the connection."""
        fault = self._planned(call)
        if fault.fault.kind is FaultKind.ARRIVE_LATE:
            wait(fault.seconds)
        return self._answer(call, fault), fault

    def _planned(self, call: Call) -> CallFault:
        with self.lock:
            return self.plan.take(call.name) if call.can_fail else CallFault()

    def _answer(self, call: Call, fault: CallFault) -> Answer:
        """Execute a call and deliver the webhooks that precede its answer."""
        with self.lock:
            answer = self._execute(call, fault)
            if call.key and fault.fault.kind is FaultKind.DELAY:
                self._running[self._place(call)] = self.clock.after(fault.seconds)
            early = self.outbox.take(early=True)
        self._send(early)
        return answer

    def _execute(self, call: Call, fault: CallFault) -> Answer:
        self.account.schedule.run_due()
        refusal = self._refusal(call)
        if refusal is None and not fault.is_executed:
            refusal = self._error(fault.status, *fault.codes)
        answer = refusal or self._once(call, fault)
        self.account.schedule.run_due()
        return answer

    def _refusal(self, call: Call) -> Answer | None:
        if call.is_public:
            return None
        if call.headers.get("authorization") != f"Bearer {self.identity.secret_key}":
            return self._error(401)
        if not (self._reads if call.method == "GET" else self._writes).take():
            return self._error(429)
        return None

    def _once(self, call: Call, fault: CallFault) -> Answer:
        """Execute a call, or replay the answer to its idempotency key. Only 2xx answers are kept."""
        self.received.append((call.name, call.key))
        if not call.key:
            return self._executed(call, fault)
        variants, place, now = self.account.variants, self._place(call), self.clock.now()
        if self._running.get(place, now) > now:
            is_new = variants.key_in_flight == "409"
            return self._error(409, "conflict") if is_new else self._error(429, "duplicate_request")
        kept = self._kept.get(place)
        if kept and kept.until > now:
            if fault.status:
                return self._error(fault.status, *fault.codes)
            is_refused = kept.body != call.body and variants.key_with_other_body == "refused"
            return self._error(422, "idempotency_key_reused") if is_refused else kept.answer
        answer = self._executed(call, fault)
        if 200 <= answer.status < 300:  # noqa: PLR2004
            until = self.clock.after(self.account.delays.idempotency_key)
            self._kept[place] = _Kept(answer, call.body, until)
        return answer

    def _executed(self, call: Call, fault: CallFault) -> Answer:
        try:
            for _ in range(2 if fault.is_twice else 1):
                response = self._calls.answer(call, hidden=fault.hidden)
        except Refused as refused:
            return self._error(refused.status, *refused.codes)
        return self._error(fault.status, *fault.codes) if fault.status else self._written(response)

    def _written(self, response: Response) -> Answer:
        headers = {"Cko-Request-Id": self.account.new_id("req"), "Cko-Version": VERSION} | response.headers
        if response.document is None:
            return Answer(response.status, headers, response.content)
        body = json.dumps(response.document).encode()
        return Answer(response.status, {"Content-Type": JSON} | headers, body)

    def _error(self, status: int, *codes: str) -> Answer:
        """Return an error. 401, 403, 404 and 5xx have no body unless codes are given."""
        headers = {}
        if status == 429:  # noqa: PLR2004
            codes = codes or ("too_many_requests",)
            headers = {"Retry-After": "1"} if self.account.variants.retry_after == "present" else {}
        if not codes:
            return self._written(Response(status, headers=headers))
        kind = "processing_error" if status >= 500 else "request_invalid"  # noqa: PLR2004
        document = {"request_id": self.account.new_id("req"), "error_type": kind, "error_codes": list(codes)}
        return self._written(Response(status, document, headers=headers))

    def _place(self, call: Call) -> tuple[str, str]:
        return ("/".join(call.path) if self.account.variants.key_scope == "call" else "", call.key)

    # Webhooks

    def tick(self) -> None:
        """Do what is due by the clock."""
        with self.lock:
            self.account.schedule.run_due()

    def deliver(self, *, shuffle: random.Random | None = None) -> list[Delivery]:
        """Send the webhooks that are due, in any order if told so, and return them."""
        with self.lock:
            self.account.schedule.run_due()
            due = self.outbox.take(shuffle=shuffle)
        return self._send(due)

    def _send(self, deliveries: list[Delivery]) -> list[Delivery]:
        for delivery in deliveries:
            status = self._sender(delivery.workflow.url, delivery.headers, delivery.body)
            with self.lock:
                self.outbox.record(delivery, status)
        return deliveries

    def _publish(self, payment: Payment, action: Action | None, event: str) -> None:
        data = documents.event_data(self.account, payment, action)
        self.outbox.publish(event, subject=payment.id, data=data)
        if event == "payment_captured" and payment.card.is_disputed:
            self.account.schedule.add(tables.DISPUTE_DELAY, partial(self._open_dispute, payment))
        elif event == "payment_captured" and tables.is_disputed(payment.captured):
            self.account.schedule.add(tables.DISPUTED_AFTER, partial(self._open_dispute, payment))

    def _open_dispute(self, payment: Payment) -> None:
        self.disputes.open(payment)

    # Books

    def books(self) -> Document:
        """Return what happened to each payment, in minor units, and what each currency's balance is, in major units."""
        with self.lock:
            self.account.schedule.run_due()
            disputed: dict[str, int] = {}
            for entry in self.ledger.entries:
                if entry.kind.startswith("Chargeback"):
                    minor = int(-entry.amount.scaleb(tables.decimals(entry.payment.currency)))
                    disputed[entry.payment.id] = disputed.get(entry.payment.id, 0) + minor
            return {
                "payments": {
                    one.id: _position(one, disputed.get(one.id, 0)) for one in self.account.payments.values()
                },
                "balances": self.ledger.balances(),
                "payouts": [asdict(payout) for payout in self.ledger.payouts],
                "stored_cards": sum(bool(one.stored_card) for one in self.account.payments.values()),
                "customers": len(self.account.customers),
            }


def garbled(body: bytes) -> bytes:
    """Return the body of an answer as a broken proxy might."""
    return b"<garbled" + body[8:]


def _position(payment: Payment, disputed: int) -> Document:
    return {
        "reference": payment.reference,
        "currency": payment.currency,
        "status": payment.status,
        "authorized": payment.authorized,
        "reserved": payment.capturable,
        "charged": payment.captured,
        "voided": payment.voided,
        "refunded": payment.refunded,
        "disputed": disputed,
    }
