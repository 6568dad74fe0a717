from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.core.management.base import CommandError

from connectors.paystack.simulator.control.variants import SWITCHES, VARIANTS, UnknownChoice
from connectors.paystack.simulator.integration import Settings
from connectors.paystack.simulator.server import Server
from connectors.paystack.simulator.simulator import Simulator
from payments.simulator_command import SimulatorCommand


class Command(SimulatorCommand):
    help = (
        "Run a simulated Paystack: card charges and the hosted checkout, Pay with Transfer, dedicated accounts, "
        "transfers, refunds, disputes, settlements, signed webhooks. It listens on localhost only. POST commands to "
        "/control as a JSON object, for example to send money to an account: "
        'curl -d \'{"receive": {"account_number": "9930000001", "amount": 50000}}\' http://127.0.0.1:8587/control. '
        "It has no USSD, QR, mobile money, bank debits, plans, subaccounts, preauthorisation, bulk transfers, approval "
        "URLs, exports or webhook history, knows NGN and JSON bodies only, and keeps nothing when it stops. "
        "Example: manage.py paystack_simulator --webhook-url http://127.0.0.1:8000/connectors/paystack"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8587, help="HTTP (default 8587)")
        parser.add_argument(
            "--key",
            default=Settings().secret_key,
            help="secret key of callers and signatures; sk_live_… is live mode",
        )
        parser.add_argument("--webhook-url", default="", metavar="URL", help="where events are sent")
        parser.add_argument(
            "--variant",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="behaviour where Paystack's documentation is silent: "
            + "; ".join(f"{name}={'|'.join(values)}" for name, values in VARIANTS.items())
            + f". Switches of /control: {', '.join(SWITCHES)}",
        )

    def handle(self, *, port: int, key: str, webhook_url: str, variant: list[str], **options: Any) -> None:
        try:
            simulator = Simulator(
                Settings(secret_key=key, webhook_url=webhook_url),
                variants=dict(word.partition("=")[::2] for word in variant),
            )
        except UnknownChoice as problem:
            raise CommandError(str(problem), returncode=2) from None
        self.serve(partial(Server, simulator, port=port), "Paystack listens on")
