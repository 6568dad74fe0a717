"""Latency, isolation and cost of deliveries, with steady loads on running workers."""

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from json import dumps, loads
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from benchmarks.cpu_time import cpu_seconds, used_between
from benchmarks.figures import Figure, percentile
from benchmarks.load import drive, http_request
from benchmarks.stack import Process, Stack, child_of, cpu_share, stack
from tests import orders
from tests.clients import Credentials, signed_headers
from tests.journeys.service import start_service

CPU_RATE = 50  # events per second at which the CPU of an event has a target
DUE = 10_000  # rows of the business whose endpoint hangs
SHOPS = 50


RATES = (20, 50, 200)  # events per second
SENDERS = ("a Celery worker", "deliver_webhooks")


def latency(options: argparse.Namespace) -> Iterator[Figure]:
    """Latency from commit to receiver at steady rates, and the sender's CPU, of both kinds of sender."""
    for sender in SENDERS:
        with stack() as running:
            running.run_with_django("benchmarks.shops", running.sink.url, "100")
            with _one(sender, running) as processes:
                published(running, 200, 3)  # warm
                for rate in RATES:
                    yield from _at(rate, sender, running, processes, seconds=options.seconds)


@contextmanager
def _one(sender: str, running: Stack) -> Iterator[list[Process]]:
    """Run one sender of a kind."""
    with (
        running.workers() if sender == SENDERS[0] else running.running("manage", "deliver_webhooks") as found
    ):
        yield found


def _at(
    rate: int, sender: str, running: Stack, processes: list[Process], *, seconds: float
) -> Iterator[Figure]:
    pids = [child_of(process).pid for process in processes]
    before = cpu_seconds(pids)
    delays = published(running, rate, seconds)
    used = used_between(before, cpu_seconds(pids)) * 1000 / len(delays)
    name = f"{sender}, {rate} events/s"
    yield Figure(f"{name}: p50 from commit to receiver", percentile(delays, 0.5), "ms", 10)
    yield Figure(f"{name}: p95", percentile(delays, 0.95), "ms", 20)
    yield Figure(f"{name}: p99", percentile(delays, 0.99), "ms", 150)
    yield Figure(f"{name}: CPU of the sender for an event", used, "ms", 2 if rate == CPU_RATE else None)


def killed(_options: argparse.Namespace) -> Iterator[Figure]:
    """Time until the unanswered request of a killed sender is sent again, by the one that is started in its place."""
    with stack() as running:
        running.run_with_django("benchmarks.shops", f"{running.sink.url}/slow", "20")
        with running.running("manage", "deliver_webhooks") as senders:
            time.sleep(3)  # until it has started
            running.sink.reset()
            running.run_with_django("benchmarks.publish", "50", "2")
            (sender,) = senders
            sender.kill()
            killed_at = time.monotonic()
            sender.start()
            running.sink.wait_for(101, seconds=60)  # of 100 events, one was unanswered and is sent again
            took = time.monotonic() - killed_at
    yield Figure("after kill -9 of a sender: until its unanswered request is sent again", took, "s", 15)


def hanging(options: argparse.Namespace) -> Iterator[Figure]:
    """Latency with 300 events per second to 1,000 endpoints, of which one in ten never responds."""
    with stack() as running:
        running.run_with_django("benchmarks.shops", running.sink.url, "1000", "100")
        with running.workers():
            delays = published(running, 300, options.seconds)
    yield Figure("10 % of 1,000 endpoints hang, 300/s: healthy p95", percentile(delays, 0.95), "ms")
    yield Figure("10 % of 1,000 endpoints hang, 300/s: healthy p99", percentile(delays, 0.99), "ms", 250)


def isolation(options: argparse.Namespace) -> Iterator[Figure]:
    """Effect of a business with 10,000 due rows and a hanging endpoint on 49 other businesses."""
    with stack() as running:
        running.run_with_django("benchmarks.shops", running.sink.url, str(SHOPS), "1")
        with running.workers():
            published(running, 100, 3, first=1)  # warm
            quiet = percentile(published(running, 100, options.seconds, first=1), 0.95)
            running.run_with_django("benchmarks.backlog", str(DUE), "0", "1")
            time.sleep(2)
            loaded = percentile(published(running, 100, options.seconds, first=1), 0.95)
    yield Figure("49 businesses, quiet: p95 from commit to receiver", quiet, "ms")
    yield Figure("beside a business with a backlog and a hanging endpoint: p95", loaded, "ms", 1_000)
    yield Figure("change of that p95", abs(loaded / quiet - 1) * 100, "%", 50)


def slow(options: argparse.Namespace) -> Iterator[Figure]:
    """Latency of first attempts to a receiver that always keeps one request waiting."""
    p95 = {}
    for path in ("", "/slow"):
        with stack() as running:
            running.run_with_django("benchmarks.shops", f"{running.sink.url}{path}", "1")
            with running.workers(options.workers):
                published(running, 20, 3)  # warm
                p95[path] = percentile(published(running, 20, options.seconds), 0.95)
    yield Figure("one business, 20 events/s: p95 from commit to receiver", p95[""], "ms")
    yield Figure("with one request to the receiver always unanswered: p95", p95["/slow"], "ms", 1_000)
    yield Figure("ratio of that p95 to the undisturbed one", p95["/slow"] / p95[""], "times")


def beside(options: argparse.Namespace) -> Iterator[Figure]:
    """Latency of an endpoint beside another one of its business that never responds, and of a single one meanwhile."""
    with stack() as running:
        running.run_with_django("benchmarks.shops", running.sink.url, "2", "0", "1")
        with running.workers(options.workers):
            delays_by_business(running, 40, 3)  # warm
            delays = delays_by_business(running, 40, options.seconds)
    beside_it, alone = (percentile(delays[name], 0.95) for name in sorted(delays))
    yield Figure("single endpoint, 20 events/s: p95 from commit to receiver", alone, "ms")
    yield Figure("beside an endpoint of the business that hangs: p95", beside_it, "ms", 1_000)
    yield Figure("ratio of that p95 to that of the single one", beside_it / alone, "times")


def published(running: Stack, rate: float, seconds: float, *, first: int = 0) -> list[float]:
    """Publish at a rate; return the milliseconds from each commit to its arrival."""
    return [
        each for delays in delays_by_business(running, rate, seconds, first=first).values() for each in delays
    ]


def delays_by_business(
    running: Stack, rate: float, seconds: float, *, first: int = 0
) -> dict[str, list[float]]:
    """Publish at a rate to businesses in turns; return the milliseconds from each commit to its arrival, by business."""
    running.sink.reset()
    committed = loads(running.run_with_django("benchmarks.publish", str(rate), str(seconds), str(first)))
    running.sink.wait_for(len(committed), seconds=60)
    arrivals, delays = running.sink.arrivals(), defaultdict[str, list[float]](list)
    for key, (business, at) in committed.items():
        delays[business].append((arrivals[key] - at) * 1000)
    return delays


def publishing(options: argparse.Namespace) -> Iterator[Figure]:
    """Time that an endpoint adds to API requests, compared with a business without an endpoint."""
    with stack() as running, ExitStack() as exits:
        folder = Path(exits.enter_context(TemporaryDirectory()))
        shared = {name: running.environment[name] for name in ("DATABASE_URL", "REDIS_URL")}
        service = exits.enter_context(
            start_service(folder, LOG_REQUESTS="False", LOG_LEVEL="WARNING", **shared)
        )
        port = urlsplit(service.base_url).port or 0
        silent, listening = (service.open_business(name).credentials for name in ("Silent", "Listening"))
        told = service.command(
            "configure_webhook", "--business", "Listening", "--url", running.sink.url, "--events", "payment"
        )
        if told.returncode:
            raise SystemExit(told.stderr)
        for credentials in (silent, listening):
            drive(port, _payments(credentials, 300), connections=1)  # warm
        added = []
        for _ in range(options.rounds * 4):
            took = [
                median(drive(port, _payments(one, 250), connections=1).latencies)
                for one in (silent, listening)
            ]
            added.append(took[1] - took[0])
    yield Figure.of_rounds("an endpoint adds to POST /api/payments", added, "ms", 1)


def _payments(credentials: Credentials, count: int) -> list[bytes]:
    bodies = [dumps(orders.card_payment(amount=20_000)).encode() for _ in range(count)]
    return [
        http_request(
            "POST", "/api/payments", body,
            {"Content-Type": "application/json"} | signed_headers(credentials, "POST", "/api/payments", body),
        )
        for body in bodies
    ]  # fmt: skip


def idle(options: argparse.Namespace) -> Iterator[Figure]:
    """CPU of idle processes: a worker for each queue, beat, `deliver_webhooks` and the sandbox."""
    worker = ("celery", "-A", "config", "worker", "--pool", "threads", "--without-mingle", "--without-gossip")
    with stack() as running:
        running.run_with_django("benchmarks.shops", running.sink.url, "100")
        beat = ("celery", "-A", "config", "beat", "--schedule", str(running.folder / "beat"), "--pidfile", "")
        for name, command in (
            ("a Celery worker", (*worker, "--queues", "sluice", "--hostname", "sluice@localhost")),
            ("a re-query worker", (*worker, "--queues", "requery", "--hostname", "requery@localhost")),
            ("beat", beat),
            ("deliver_webhooks", ("manage", "deliver_webhooks")),
        ):
            with running.running(*command) as processes:
                time.sleep(10)  # until startup is finished
                pids = [child_of(process).pid for process in processes]
                yield Figure(f"CPU of idle {name}", cpu_share(pids, seconds=options.seconds), "%", 0.5)
    with (
        TemporaryDirectory() as folder,
        start_service(Path(folder), DATABASE_URL="", REDIS_URL="") as sandbox,
    ):
        time.sleep(10)
        used = cpu_share([sandbox.pid], seconds=options.seconds)
        yield Figure("CPU of an idle sandbox", used, "%", 1)
