"""The simulated Paystack as an HTTP server on this machine."""

from connectors.paystack.simulator.simulator import Simulator
from payments.simulators.fault_injection import Fault, FaultKind
from payments.simulators.http_server import Conversation, SimulatorServer, written

TICK = 0.05  # seconds between checks of what is due


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
        if fault.kind is FaultKind.ARRIVE_LATE:
            fault = Fault(FaultKind.LOSE)  # it arrives after its caller has gone
        self.send_under(fault, written(*answer) if answer else b"")

    do_GET = do_POST = do_PUT = do_DELETE = _exchange  # noqa: N815  (names of the library)
