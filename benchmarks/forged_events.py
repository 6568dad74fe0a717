"""Payments of production's processes while forged events of a provider arrive."""

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.figures import Figure
from benchmarks.load import Measured, beside, drive, http_request
from benchmarks.signed_payments import signed_payments
from kit.free_ports import free_port
from tests.faults.processes import Redis
from tests.journeys.service import Service, start_service

CONNECTIONS = 4  # of the merchant: as many payments at once as one worker has threads
PER_SECOND = 10_000 / 60
BURST = 10  # events that arrive one after another over a connection
LARGEST_RATIO = 2.0  # of a payment's p99 beside them
PROVIDER = {
    "CHECKOUT_SECRET_KEY": "sk_sbox_simulatorsimulatorsimulator",
    "CHECKOUT_PROCESSING_CHANNEL": "pc_simulatorsimulatorsimulato",
    "CHECKOUT_WEBHOOK_KEYS": "a-key-of-a-workflow",
}


def forged(options: argparse.Namespace) -> Iterator[Figure]:
    """Make payments alone and beside forged events. Rounds alternate, because of what else the machine does."""
    with _service() as service:
        port = urlsplit(service.base_url).port or 0
        _pay(service, port, options.payments)
        alone: list[float] = []
        together: list[float] = []
        rates: list[float] = []
        for _ in range(options.rounds):
            alone.append(_pay(service, port, options.payments).percentile(0.99))
            with beside(lambda is_over: rates.append(_forge(port, is_over))):
                together.append(_pay(service, port, options.payments).percentile(0.99))
    yield Figure.of_rounds("forged events that are refused", rates, "/min")
    yield Figure.of_rounds("payment, p99", alone, "ms")
    yield Figure.of_rounds("payment beside them, p99", together, "ms")
    yield Figure.of_ratios(
        "p99 beside 10,000 of them a minute, of p99 alone",
        together,
        alone,
        LARGEST_RATIO,
        at_least=False,
    )


@contextmanager
def _service() -> Iterator[Service]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        redis = Redis(folder)
        redis.start()
        stack.callback(redis.kill)
        redis_url = f"redis://127.0.0.1:{redis.port}/0"
        quiet = {"LOG_REQUESTS": "False", "LOG_LEVEL": "ERROR"}
        address = {"CHECKOUT_URL": f"http://127.0.0.1:{free_port()}"}  # nothing there is called
        yield stack.enter_context(start_service(folder, REDIS_URL=redis_url, **quiet, **PROVIDER, **address))


def _pay(service: Service, port: int, payments: int) -> Measured:
    requests = [payment.request for payment in signed_payments([service.credentials], payments)]
    measured = drive(port, requests, connections=CONNECTIONS)
    if set(measured.statuses) != {HTTPStatus.CREATED}:
        raise SystemExit(f"payments: {measured.statuses}")
    return measured


def _forge(port: int, is_over: threading.Event) -> float:
    """Send events with a wrong signature until it is over, and return how many a minute were refused."""
    started, bursts = time.perf_counter(), 0
    while not is_over.wait(max(0.0, started + bursts * BURST / PER_SECOND - time.perf_counter())):
        events = [_forged_event(bursts * BURST + number) for number in range(BURST)]
        measured = drive(port, events, connections=1)
        if set(measured.statuses) != {HTTPStatus.UNAUTHORIZED}:
            raise SystemExit(f"forged events: {measured.statuses}")
        bursts += 1
    return bursts * BURST / (time.perf_counter() - started) * 60


def _forged_event(number: int) -> bytes:
    body = json.dumps({"id": f"evt_{number:026}", "type": "payment_approved", "data": {}}).encode()
    headers = {"Cko-Signature": "0" * 64, "Content-Type": "application/json"}
    return http_request("POST", "/connectors/checkout", body, headers)
