import asyncio
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from merchants.commands import until_told_to_stop
from payments.simulators.acquirer import AcquirerSimulator


class Command(BaseCommand):
    help = (
        "Run an acquirer that speaks ISO 8583 and decides by the sandbox's table of outcomes. It listens on this "
        "machine only; orders, one JSON object in a line, go to the control port. "
        "Example: manage.py acquirer_simulator --port 8583 --control-port 8584"
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8583, help="ISO 8583 (default 8583)")
        parser.add_argument("--control-port", type=int, default=8584, help="orders (default 8584)")

    def handle(self, *, port: int, control_port: int, **options: Any) -> None:
        if not settings.SANDBOX:
            raise CommandError("ENVIRONMENT is production; simulators do not run there.", returncode=2)
        simulator = AcquirerSimulator(port=port, control_port=control_port)
        try:
            with until_told_to_stop():
                asyncio.run(simulator.serve(when_ready=lambda: self._say(simulator)))
        except OSError as problem:
            raise CommandError(f"The port cannot be used: {problem.strerror}.") from None

    def _say(self, simulator: AcquirerSimulator) -> None:
        self.stdout.write(
            f"The acquirer listens on 127.0.0.1:{simulator.port} and takes orders on "
            f"127.0.0.1:{simulator.control_port} (Ctrl-C stops it)."
        )
        self.stdout.flush()
