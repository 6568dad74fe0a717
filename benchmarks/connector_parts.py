"""Measure card payments through a connector in this process."""

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from unittest.mock import patch

from django.conf import settings
from django.db import connection
from django.test import Client as HttpClient

from benchmarks.figures import Figure, percentile, seconds_of
from benchmarks.list_parts import client_with_a_payment
from connectors.checkout.simulator.settings import Identity
from kit.free_ports import free_port
from tests import orders
from tests.clients import InProcessClient
from tests.journeys.service import PROJECT, wait_until_open

LARGEST_RATIO = 1.3  # of our CPU for a payment through the provider
FORGED_PER_SECOND = 10_000 / 60
WARM_UP = 30
GOOD_CARD = "4242424242424242"


def cards(_url: str, options: argparse.Namespace) -> Iterator[Figure]:
    # Payments would otherwise wait for tokens, because a process alone has a quarter of the limit.
    unlimited = patch.multiple("connectors.checkout.client", CALLS_PER_SECOND=10**6, BURST=10**6)
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
    settings.CARD_ACQUIRER = "sandbox"
    yield from _beside_forged_webhooks(client, options.rounds, options.payments)


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


def _beside_forged_webhooks(client: InProcessClient, rounds: int, payments: int) -> Iterator[Figure]:
    """Make payments one after another, alone and while another thread of this process sends forged webhooks.

    Rounds alternate: what else the machine does would otherwise slow only one of both.
    """
    alone: list[float] = []
    beside: list[float] = []
    forged: list[float] = []
    settings.CHECKOUT_WEBHOOK_KEYS = ["webhook-key"]
    _durations(client, WARM_UP)
    for _ in range(rounds):
        alone += _durations(client, payments)
        over = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            forging = pool.submit(_forge, over)
            try:
                beside += _durations(client, payments)
            finally:
                over.set()
        forged.append(forging.result())
    yield Figure.of_rounds("forged webhooks that are refused", forged, "/min")
    ratio = percentile(beside, 0.99) / percentile(alone, 0.99)
    yield Figure("p99 of payments beside 10,000 of them a minute, of theirs alone", ratio, "times", 2)


def _durations(client: InProcessClient, payments: int) -> list[float]:
    """Make payments, and return the duration of each in seconds."""
    return [seconds_of(partial(client.post, "/api/payments", orders.card_payment())) for _ in range(payments)]


def _forge(over: threading.Event) -> float:
    """Send webhooks with a wrong signature until it is over, and return how many a minute."""
    provider, started, sent = HttpClient(), time.perf_counter(), 0
    while not over.wait(max(0.0, started + sent / FORGED_PER_SECOND - time.perf_counter())):
        body = json.dumps({"id": f"evt_{sent:026}", "type": "payment_approved", "data": {}})
        answer = provider.post(
            "/connectors/checkout", body, content_type="application/json", headers={"Cko-Signature": "0" * 64}
        )
        if answer.status_code != HTTPStatus.UNAUTHORIZED:
            sys.exit(f"forged webhook: {answer.status_code}")
        sent += 1
    connection.close()
    return sent / (time.perf_counter() - started) * 60


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
