"""The simulated Paystack as an HTTP server on this machine."""

from connectors.paystack.simulator.answers import Answer
from connectors.paystack.simulator.control.faults import WITHOUT_ANSWER
from connectors.paystack.simulator.simulator import Simulator
from payments.simulators.fault_injection import Fault, FaultKind
from payments.simulators.http_server import HANGING, Conversation, SimulatorServer, written

TICK = 0.05  # seconds between checks of what is due
HANGS = {FaultKind.SWALLOW, FaultKind.LOSE, FaultKind.ARRIVE_LATE}


class Server(SimulatorServer):
    """Serves a simulator, and delivers its events from a thread of its own."""

    def __init__(self, simulator: Simulator, *, port: int = 0) -> None:
        super().__init__(_Exchange, port=port)
        self.simulator = simulator
        simulator.integration.base_url = self.url
        self.repeat(simulator.deliver, every=TICK)


class _Exchange(Conversation):
    server: Server

    def _exchange(self) -> None:
        call = (self.command, self.path, dict(self.headers), self.read_body())
        answer, fault = self.server.simulator.exchange(*call)
        if fault.kind is FaultKind.DELAY:
            self.server.is_over.wait(fault.seconds)
        if fault.kind in HANGS:
            self.server.is_over.wait(HANGING)
        if answer is None or fault.kind in WITHOUT_ANSWER - {FaultKind.HALF}:
            self.close_connection = True
        else:
            self._send(answer, fault)

    do_GET = do_POST = do_PUT = do_DELETE = _exchange  # noqa: N815  (names of the library)

    def _send(self, answer: Answer, fault: Fault) -> None:
        whole = written(answer.status, answer.headers, answer.body)
        match fault.kind:
            case FaultKind.HALF:
                self.wfile.write(whole[: len(whole) - len(answer.body) // 2 - 1])
                self.close_connection = True
            case FaultKind.TWICE:
                self.wfile.write(whole * 2)
            case FaultKind.DRIP:
                self.drip(whole, fault.seconds)
            case _:
                self.wfile.write(whole)
