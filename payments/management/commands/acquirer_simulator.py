import asyncio
from argparse import ArgumentParser
from typing import Any

from merchants.commands import until_interrupted
from payments.simulator_command import SimulatorCommand, port_errors
from payments.simulators.acquirer import AcquirerSimulator


class Command(SimulatorCommand):
    help = (
        "Run a simulated ISO 8583 acquirer that answers by the sandbox's outcome table. It listens on localhost "
        "only. Send commands to the control port, one JSON object per line. "
        "Example: manage.py acquirer_simulator --port 8583 --control-port 8584"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8583, help="ISO 8583 (default 8583)")
        parser.add_argument("--control-port", type=int, default=8584, help="commands (default 8584)")

    def handle(self, *, port: int, control_port: int, **options: Any) -> None:
        simulator = AcquirerSimulator(port=port, control_port=control_port)
        with port_errors(), until_interrupted():
            asyncio.run(simulator.serve(when_ready=lambda: self._say_ports(simulator)))

    def _say_ports(self, simulator: AcquirerSimulator) -> None:
        self.announce(
            f"The acquirer listens on 127.0.0.1:{simulator.port} and accepts commands on "
            f"127.0.0.1:{simulator.control_port}."
        )
