from argparse import ArgumentParser
from functools import partial
from typing import Any

from connectors.checkout.simulator.control.settings import Identity
from connectors.checkout.simulator.server import CheckoutServer
from connectors.checkout.simulator.simulator import Simulator
from payments.simulator_command import SimulatorCommand

WEBHOOK_KEY = "checkout-simulator-webhook-key"


class Command(SimulatorCommand):
    help = (
        "Run a simulated Checkout.com: payments with 3-D Secure by redirect, a hosted card page, signed webhooks, reports "
        "and disputes, decided by the test cards and amounts that Checkout.com publishes. It listens on localhost only. "
        "It has cards only: no tokens, stored cards, other payment methods, payouts to cards, OAuth, payment search, "
        "incremental authorisations or foreign exchange. POST instructions as JSON to /control. "
        "Example: manage.py checkout_simulator --port 8590 --notify http://127.0.0.1:8000/connectors/checkout"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        default = Identity()
        parser.add_argument("--port", type=int, default=8590, help="HTTP (default 8590)")
        parser.add_argument("--secret-key", default=default.secret_key, help="the key that callers send")
        parser.add_argument("--channel", default=default.channel, help="the processing channel")
        parser.add_argument("--notify", default="", metavar="URL", help="where to send webhooks")
        parser.add_argument(
            "--webhook-key", default=WEBHOOK_KEY, help=f"signs webhooks (default {WEBHOOK_KEY})"
        )
        parser.add_argument(
            "--calls-per-second", type=float, default=100, help="reads, and writes, before 429 (default 100)"
        )

    def handle(
        self, *, port: int, notify: str, webhook_key: str, calls_per_second: float, **options: Any
    ) -> None:
        identity = Identity(secret_key=options["secret_key"], channel=options["channel"])
        simulator = Simulator(identity=identity, calls_per_second=calls_per_second)
        if notify:
            simulator.outbox.notify(notify, webhook_key)
        self.serve(partial(CheckoutServer, port=port, simulator=simulator), "Checkout.com is simulated on")
