"""The simulated Paystack without sockets: a call in, an answer out."""

import threading
from collections import Counter
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from connectors.paystack.simulator import routes, tables
from connectors.paystack.simulator.answers import Answer, Document, Refused, Request, as_json, read_body
from connectors.paystack.simulator.control import control
from connectors.paystack.simulator.control.faults import (
    HIDDEN_SECONDS,
    SLOW,
    WITHOUT_ANSWER,
    WITHOUT_EFFECT,
    Plan,
    Unanswered,
)
from connectors.paystack.simulator.integration import Integration, Settings
from connectors.paystack.simulator.money import settlements
from connectors.paystack.simulator.webhooks import Event, Send
from payments.simulators.fault_injection import ANSWER, Fault, FaultKind

CONTROL = "/control"


class Simulator:
    """One integration behind one key. `handle` and `deliver` are all that a caller in the process needs."""

    caller_timeout = 9.0  # seconds: a slower answer is none for `handle`

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        standing_at: datetime | None = None,
        variants: dict[str, str] | None = None,
        send: Send | None = None,
    ) -> None:
        self.integration: Integration = Integration(
            settings or Settings(), standing_at=standing_at, choices=variants, send=send
        )
        self.plan: Plan = Plan()
        self.calls: Counter[str] = Counter()  # by method and route
        self._windows: dict[str, tuple[int, int]] = {}  # route: number of the window, calls in it
        self._lock = threading.RLock()

    def handle(self, method: str, target: str, headers: dict[str, str], body: bytes = b"") -> Answer:
        """Answer a call.

        :raises Unanswered: a fault keeps the answer from the caller
        """
        answer, fault = self.exchange(method, target, headers, body)
        if (
            answer is None
            or fault.kind in WITHOUT_ANSWER
            or (fault.kind in SLOW and fault.seconds > self.caller_timeout)
        ):
            raise Unanswered(fault)
        return answer

    def exchange(
        self, method: str, target: str, headers: dict[str, str], body: bytes = b""
    ) -> tuple[Answer | None, Fault]:
        """Carry a call out under the next fault that fits. What the fault does to the connection is left to the caller."""
        request = _read(method, target, headers, body)
        if request.path == CONTROL:
            return self._control(request), ANSWER
        with self._lock:
            # Pages of payers have no key, and use no planned fault up.
            fault = self.plan.take(method, request.path) if request.authorization else ANSWER
            answer = self._under(fault, request)
        if fault.kind is FaultKind.WEBHOOK_FIRST:
            self.deliver()
        if self.integration.switches["is_down"]:
            return None, Fault(FaultKind.CUT)
        return answer, fault

    def deliver(self) -> list[Event]:
        """Send the events that are due, and return them."""
        self.run_due()
        return self.integration.outbox.deliver()

    def advance(self, seconds: float) -> None:
        """Move the clock, and let everything happen that is due by then."""
        with self._lock:
            self.integration.clock.advance(seconds)
            self.run_due()

    def run_due(self) -> None:
        with self._lock:
            self.integration.schedule.run_due()

    def command(self, **order: Any) -> Document:
        """Carry out commands of the control interface.

        :raises ValueError: a command is unknown, or not possible
        """
        with self._lock:
            return control.carry_out(self, order)

    def books(self) -> Document:
        with self._lock:
            self.run_due()
            return settlements.books(self.integration)

    def _under(self, fault: Fault, request: Request) -> Answer | None:
        """Carry a call out as often as the fault says, and return the answer that it leaves."""
        self.run_due()
        if self.integration.switches["is_down"]:
            return None
        if fault.kind in WITHOUT_EFFECT:
            return self._without_effect(fault, request)
        self.integration.hidden_for = (
            (fault.seconds or HIDDEN_SECONDS) if fault.kind is FaultKind.HIDE else 0.0
        )
        answer = self._answer(request)
        if fault.kind is FaultKind.REPEAT:
            answer = self._answer(request)
        self.integration.hidden_for = 0.0
        self.run_due()
        return _spoilt(answer, fault, request)

    def _without_effect(self, fault: Fault, request: Request) -> Answer | None:
        if fault.kind is FaultKind.ARRIVE_LATE:
            self.integration.schedule.add(fault.seconds, lambda: self._ignore(request))
        return _error(int(fault.seconds or 500)) if fault.kind is FaultKind.REFUSE else None

    def _ignore(self, request: Request) -> None:
        self._answer(request)

    def _answer(self, request: Request) -> Answer:
        try:
            return self._route(request)
        except Refused as refused:
            return refused.answer()

    def _route(self, request: Request) -> Answer:
        found = routes.find(request.method, request.path)
        if found is None:
            raise Refused("route")
        route, request.params = found
        self.calls[f"{route.method} {route.path}"] += 1
        if not route.is_page:
            self._admit(request, route.path)
            request.body = read_body(request.raw)
        return route.handler(self.integration, request)

    def _admit(self, request: Request, path: str) -> None:
        """Check address, key and rate of a call.

        :raises Refused: one of them is refused
        """
        if self.integration.switches["ip_refused"]:
            raise Refused("ip")
        if request.authorization != f"Bearer {self.integration.settings.secret_key}":
            raise Refused("key")
        if not self.integration.switches["unlimited"]:
            self._count(path)

    def _count(self, path: str) -> None:
        limits = tables.RATES[self.integration.domain]
        limit = limits.get(path, limits[""])
        second = int(self.integration.now().timestamp())
        window = second // tables.RATE_WINDOW
        known, calls = self._windows.get(path, (window, 0))
        calls = calls + 1 if known == window else 1
        self._windows[path] = (window, calls)
        if calls > limit:
            reset = tables.RATE_WINDOW - second % tables.RATE_WINDOW
            raise Refused("rate", headers=_rate_headers(limit, reset))

    def _control(self, request: Request) -> Answer:
        try:
            return as_json(200, self.command(**read_body(request.raw)))
        except Refused as refused:
            return refused.answer()
        except (ValueError, TypeError, KeyError) as problem:
            return as_json(400, {"error": str(problem)})


def _read(method: str, target: str, headers: dict[str, str], raw: bytes) -> Request:
    parts = urlsplit(target)
    authorization = next((value for name, value in headers.items() if name.lower() == "authorization"), "")
    return Request(method, parts.path, dict(parse_qsl(parts.query)), authorization, raw)


def _rate_headers(limit: int, reset: int) -> dict[str, str]:
    return {"x-ratelimit-limit": str(limit), "x-ratelimit-remaining": "0", "x-ratelimit-reset": str(reset)}


def _spoilt(answer: Answer, fault: Fault, request: Request) -> Answer:
    match fault.kind:
        case FaultKind.FAIL:
            return _error(int(fault.seconds or 500))
        case FaultKind.GARBAGE:
            return answer._replace(body=answer.body.replace(b'":', b'";'))
        case FaultKind.REDIRECT:
            return Answer(307, {"Location": f"{request.path}?again"}, b"")
        case _:
            return answer


def _error(status: int) -> Answer:
    """Return an error in the provider's form, or from 502 on a page of a proxy between."""
    names = {401: "key", 403: "ip", 429: "rate"}
    if status > 500:  # noqa: PLR2004
        return Answer(status, {"Content-Type": "text/html"}, b"<html><h1>Bad Gateway</h1></html>")
    headers = _rate_headers(tables.RATES["test"][""], 1) if status == 429 else None  # noqa: PLR2004
    return Refused(names.get(status, "gateway"), headers=headers, status=status).answer()
