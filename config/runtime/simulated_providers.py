"""Simulated providers beside a sandbox: `manage.py sandbox --rails checkout,paystack`.

Each runs in threads of the sandbox's process, and sends its webhooks to the sandbox. Its account and its books end with
the process.
"""

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings

from connectors.checkout.simulator.control.settings import Identity
from connectors.checkout.simulator.server import CheckoutServer
from connectors.checkout.simulator.simulator import Simulator as SimulatedCheckout
from connectors.paystack.simulator.integration import Settings as PaystackSettings
from connectors.paystack.simulator.server import Server as PaystackServer
from connectors.paystack.simulator.simulator import Simulator as SimulatedPaystack
from kit.free_ports import free_port
from payments.simulators.http_server import SimulatorServer

CHECKOUT_WEBHOOK_KEY = "webhook-key-of-the-simulated-checkout"  # not a secret


@dataclass(frozen=True, slots=True)
class SimulatedProvider:
    """A provider's simulator: the setting of its address, its other settings, and what starts it on a port."""

    address: str
    settings: dict[str, str]
    start: Callable[[int], SimulatorServer]


def environment_for(names: Iterable[str]) -> dict[str, str]:
    """Return the variables with which the service uses the simulators of these providers as its rails.

    Each gets a free port, or keeps the one that the environment has already.
    """
    chosen = [SIMULATED[name] for name in names]
    found = {"RAILS": ",".join(names)}
    for provider in chosen:
        found |= provider.settings | {
            provider.address: os.environ.get(provider.address) or f"http://127.0.0.1:{free_port()}"
        }
    return found


def addresses() -> dict[str, str]:
    """Return the address of each simulator, by the provider in `RAILS`."""
    return {name: getattr(settings, SIMULATED[name].address) for name in settings.RAILS}


def start() -> None:
    """Start the simulators of the providers in `RAILS`, in daemon threads."""
    for name, address in addresses().items():
        server = SIMULATED[name].start(urlsplit(address).port or 0)
        threading.Thread(target=server.serve_forever, daemon=True, name=f"simulated {name}").start()


def _checkout(port: int) -> SimulatorServer:
    simulator = SimulatedCheckout(identity=Identity())
    simulator.outbox.notify(f"{settings.PUBLIC_URL}/connectors/checkout", CHECKOUT_WEBHOOK_KEY)
    return CheckoutServer(port=port, simulator=simulator)


def _paystack(port: int) -> SimulatorServer:
    account = PaystackSettings(webhook_url=f"{settings.PUBLIC_URL}/connectors/paystack")
    return PaystackServer(SimulatedPaystack(account), port=port)


SIMULATED = {
    "checkout": SimulatedProvider(
        address="CHECKOUT_URL",
        settings={
            "CHECKOUT_SECRET_KEY": Identity().secret_key,
            "CHECKOUT_PROCESSING_CHANNEL": Identity().channel,
            "CHECKOUT_WEBHOOK_KEYS": CHECKOUT_WEBHOOK_KEY,
        },
        start=_checkout,
    ),
    "paystack": SimulatedProvider(
        address="PAYSTACK_URL",
        settings={
            "PAYSTACK_SECRET_KEY": PaystackSettings().secret_key,
            "PAYSTACK_INTEGRATION": str(PaystackSettings().integration),
            "PAYSTACK_FALLBACK_EMAIL": "payer@shop.example",
        },
        start=_paystack,
    ),
}
