from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from payments.simulator_command import SimulatorCommand
from payments.simulators.bank import BankSimulator


class Command(SimulatorCommand):
    help = (
        "Run a simulated bank that accepts transfers as signed JSON and answers by the sandbox's outcome table. It "
        "listens on localhost only. Callers sign with BANK_CLIENT_ID and BANK_SECRET_KEY, by default `sluice` and "
        "`bank-simulator-key`. Example: manage.py bank_simulator --port 8585"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8585, help="HTTP (default 8585)")
        parser.add_argument(
            "--notify",
            default="",
            metavar="URL",
            help="base URL of the service to notify of returned payouts; "
            "notifications are signed with the first of BANK_NOTIFICATION_KEYS",
        )

    def handle(self, *, port: int, notify: str, **options: Any) -> None:
        if notify and not settings.BANK_NOTIFICATION_KEYS:
            raise CommandError(
                "BANK_NOTIFICATION_KEYS is empty; notifications can't be signed.", returncode=2
            )
        simulator = partial(
            BankSimulator,
            port=port,
            notify_url=notify,
            notify_key=next(iter(settings.BANK_NOTIFICATION_KEYS), ""),
            client_id=settings.BANK_CLIENT_ID or "sluice",
            key=settings.BANK_SECRET_KEY or "bank-simulator-key",
        )
        self.serve(simulator, "The bank listens on")
