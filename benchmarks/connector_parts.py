"""Measure card payments through a connector in this process."""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from django.conf import settings

from benchmarks.figures import Figure
from benchmarks.list_parts import client_with_a_payment
from connectors.checkout.simulator.control.settings import Identity
from kit.free_ports import free_port
from tests import orders
from tests.clients import InProcessClient
from tests.journeys.service import PROJECT, wait_until_open

LARGEST_RATIO = 1.3  # of our CPU for a payment through the provider
WARM_UP = 30
GOOD_CARD = "4242424242424242"


def cards(_url: str, options: argparse.Namespace) -> Iterator[Figure]:
    # Payments would otherwise wait for tokens, because a process alone has a quarter of the limit.
    unlimited = patch.multiple("connectors.checkout.api.client", CALLS_PER_SECOND=10**6, BURST=10**6)
    with _simulated_checkout() as address, unlimited:
        identity = Identity()
        settings.CHECKOUT_URL, settings.CHECKOUT_SECRET_KEY = address, identity.secret_key
        settings.CHECKOUT_PROCESSING_CHANNEL = identity.channel
        settings.RATE_LIMIT_WRITES = 1_000_000  # one client alone makes more than a key may
        client = client_with_a_payment()
        sandbox, checkout = [], []
        for rail in ("sandbox", "checkout"):
            _pay(client, rail, WARM_UP)
        for _ in range(options.rounds):
            sandbox.append(_pay(client, "sandbox", options.payments))
            checkout.append(_pay(client, "checkout", options.payments))
    yield Figure.of_rounds("card payment through the sandbox rail: CPU", sandbox, "ms")
    yield Figure.of_rounds("card payment through Checkout.com: CPU", checkout, "ms")
    yield Figure.of_ratios(
        "CPU through Checkout.com, of the sandbox rail's", checkout, sandbox, LARGEST_RATIO, at_least=False
    )


def _pay(client: InProcessClient, rail: str, payments: int) -> float:
    """Make payments through a rail, and return our CPU of each in milliseconds, all threads included."""
    settings.CARD_ACQUIRER = rail
    bodies = [
        orders.card_payment(source=orders.card_source(pan=GOOD_CARD, cvv="100")) for _ in range(payments)
    ]
    started = time.process_time()
    for body in bodies:
        answer = client.post("/api/payments", body)
        if answer.status_code != 201 or answer.json()["status"] != "success":
            sys.exit(f"payment through {rail}: {answer.content.decode()}")
    return (time.process_time() - started) / payments * 1000


@contextmanager
def _simulated_checkout() -> Iterator[str]:
    port = free_port()
    command = [
        sys.executable,
        "manage.py",
        "checkout_simulator",
        "--port",
        str(port),
        "--calls-per-second",
        "0",
    ]
    process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.DEVNULL)
    try:
        wait_until_open(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=10)
