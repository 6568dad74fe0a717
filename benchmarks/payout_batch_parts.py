"""Measure a batch of payouts: its checks in this process, its sending in another one."""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from django.conf import settings

from benchmarks.figures import Figure, percentile, seconds_of
from benchmarks.list_parts import client_with_a_payment
from benchmarks.slow_bank import NAME
from payments import rails
from payout_batches.models import PayoutBatch
from payout_batches.services import checks
from tests import orders
from tests.clients import InProcessClient
from tests.journeys.service import PROJECT

BATCHES = "/api/payout-batches"
SENDER = [sys.executable, "-m", "tests.with_django", "benchmarks.slow_bank"]
Status = PayoutBatch.Status


def batch(_url: str, options: argparse.Namespace) -> Iterator[Figure]:
    rails.BANKS["sandbox"] = NAME
    settings.RATE_LIMIT_WRITES = 1_000_000  # one client alone makes more than a key may
    client = client_with_a_payment()
    path = f"{BATCHES}/{_created(client, options.payouts)}"

    checked = seconds_of(_check)
    yield Figure(f"checks of {options.payouts:,} payouts", checked, "s", 60)
    alone = _pay(client, until=lambda made: made >= options.payments)
    answer = client.post(f"{path}/approve", {})
    _require(answer.status_code == 200, answer.content.decode())

    started = time.perf_counter()
    sender = subprocess.Popen(SENDER, cwd=PROJECT)
    beside = _pay(client, until=lambda _: sender.poll() is not None)
    seconds = time.perf_counter() - started
    counts = client.get(path).json()["counts"]
    _require(counts == {"success": options.payouts}, f"the batch ended with {counts}")

    yield Figure(
        "sent by one process, its start included", options.payouts / seconds, "/s", 20, at_least=True
    )
    name = "p99 of card payments beside it, of theirs alone"
    yield Figure(name, percentile(beside, 0.99) / percentile(alone, 0.99), "times", 1.5)


def _created(client: InProcessClient, payouts: int) -> str:
    request = orders.payout_batch(*[orders.batch_item(place) for place in range(payouts)])
    answer = client.post(BATCHES, request)
    _require(answer.status_code == 201, answer.content.decode())
    return str(request["reference"])


def _check() -> None:
    while PayoutBatch.objects.filter(status=Status.CHECKING).exists():
        checks.check_due()


def _pay(client: InProcessClient, *, until: Callable[[int], bool]) -> list[float]:
    """Make payments one after another until the end, and return the duration of each in seconds."""
    durations: list[float] = []
    while not until(len(durations)):
        started = time.perf_counter()
        answer = client.post("/api/payments", orders.card_payment())
        durations.append(time.perf_counter() - started)
        _require(answer.status_code == 201, answer.content.decode())
    return durations


def _require(holds: object, problem: str) -> None:
    if not holds:
        sys.exit(problem)
