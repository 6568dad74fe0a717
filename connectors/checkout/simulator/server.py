"""The simulator as an HTTP server on this machine. Its webhooks are sent by a thread.

POST /control takes the instructions of `control/control.py`, without a key.
"""

import json
from http import HTTPStatus

from connectors.checkout.simulator.api.calls import call_of
from connectors.checkout.simulator.control.control import carry_out
from connectors.checkout.simulator.control.faults import CallFault
from connectors.checkout.simulator.simulator import Answer, Simulator, garbled
from payments.simulators.fault_injection import FaultKind
from payments.simulators.http_server import Conversation, SimulatorServer, written

POLL = 0.1  # seconds between two looks for due webhooks
LARGEST_BODY = 10 * 2**20


class CheckoutServer(SimulatorServer):
    """Serves a simulator, and delivers its webhooks from a thread of its own."""

    def __init__(self, *, port: int = 0, simulator: Simulator | None = None) -> None:
        super().__init__(_Conversation, port=port)
        self.simulator = simulator or Simulator()
        self.simulator.account.base_url = self.url
        self.repeat(self.simulator.deliver, every=POLL)


class _Conversation(Conversation):
    server: CheckoutServer

    def _converse(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if length > LARGEST_BODY:
            self.close_connection = True
            return self._send(Answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {}, b""))
        body = self.rfile.read(length)
        if self.path.startswith("/control"):
            return self._control(body)
        call = call_of(self.command, self.path, dict(self.headers), body)
        return self._answer(*self.server.simulator.exchange(call, wait=self.server.is_over.wait))

    do_GET = do_POST = do_PUT = _converse  # noqa: N815  (names of the library)

    def _control(self, body: bytes) -> None:
        try:
            state = carry_out(self.server.simulator, json.loads(body or b"{}"))
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            return self._send(
                Answer(HTTPStatus.BAD_REQUEST, {}, json.dumps({"error": str(problem)}).encode())
            )
        headers = {"Content-Type": "application/json"}
        return self._send(Answer(HTTPStatus.OK, headers, json.dumps(state, default=str).encode()))

    def _answer(self, answer: Answer, fault: CallFault) -> None:
        if fault.fault.kind is FaultKind.GARBAGE:
            self.close_connection = True
            answer = answer._replace(body=garbled(answer.body))
        self.send_under(fault.fault, written(*answer))

    def _send(self, answer: Answer) -> None:
        self.wfile.write(written(*answer))
