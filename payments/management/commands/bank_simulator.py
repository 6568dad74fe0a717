from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from merchants.commands import until_interrupted
from payments.simulators.bank import BankSimulator


class Command(BaseCommand):
    help = (
        "Run a simulated bank that accepts transfers as signed JSON and answers by the sandbox's outcome table. It "
        "listens on localhost only. Callers sign with BANK_CLIENT_ID and BANK_SECRET_KEY, by default `sluice` and "
        "`bank-simulator-key`. Example: manage.py bank_simulator --port 8585"
    )
    requires_system_checks: list[str] = []

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
        if not settings.SANDBOX:
            raise CommandError("Simulators don't run in production (ENVIRONMENT).", returncode=2)
        if notify and not settings.BANK_NOTIFICATION_KEYS:
            raise CommandError(
                "BANK_NOTIFICATION_KEYS is empty; notifications can't be signed.", returncode=2
            )
        try:
            simulator = BankSimulator(
                port=port,
                notify_url=notify,
                notify_key=next(iter(settings.BANK_NOTIFICATION_KEYS), ""),
                client_id=settings.BANK_CLIENT_ID or "sluice",
                key=settings.BANK_SECRET_KEY or "bank-simulator-key",
            )
        except OSError as problem:
            raise CommandError(f"The port cannot be used: {problem.strerror}.") from None
        self.stdout.write(f"The bank listens on {simulator.url}. Press Ctrl-C to stop it.")
        self.stdout.flush()
        with until_interrupted():
            simulator.serve_forever()
