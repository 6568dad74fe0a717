"""Ten minutes at half of the service's capacity: memory, lock waits, events, and the ledger at the end.

    .venv/bin/python benchmarks/soak.py                        (needs PostgreSQL and Redis; takes as long as it says)
    .venv/bin/python benchmarks/soak.py --minutes 1 --rate 50

Runs web, a worker, beat, a database, a Redis and a receiver. Merchants make, look up, capture, refund and list payments
over persistent connections. The capacity is the rate that the same merchants reach without pauses.
"""

import argparse
import http.client
import json
import math
import sys
import threading
import time
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from psycopg import Connection

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.figures import Figure, percentile
from benchmarks.parts import Part, run_parts
from benchmarks.stack import Process, Stack, child_of, memory, stack, wait_until
from kit.free_ports import free_port
from tests import orders
from tests.clients import Credentials, signed_headers
from tests.journeys.service import wait_until_open

SHOPS = 8
MERCHANTS = 8  # connections
WARM_UP = 120  # seconds of warm-up before memory is measured; a third of a short run
GROWTH = 5  # per cent
LOCK_WAIT = 1  # seconds
LOOK = 0.5  # seconds between two samples of lock waits
MEMORY = 10  # seconds between two samples of memory; a tenth of that in a short run


def soak(options: argparse.Namespace) -> Iterator[Figure]:
    """Run and observe a steady load."""
    with ExitStack() as exits:
        running = exits.enter_context(stack(RATE_LIMIT_WRITES="1000000", RATE_LIMIT_READS="1000000"))
        seeded = running.run("tests.faults.seed", f"{running.sink.url}/hook", str(SHOPS))
        shops = [Credentials(one["api_key"], one["secret_key"]) for one in json.loads(seeded)]
        port = free_port()
        processes = start(running, port, exits)
        Load(port, shops, rate=math.inf).run(options.measure)  # until every process and cache is warm
        rate = options.rate
        if not rate:
            capacity = Load(port, shops, rate=math.inf).run(options.measure).rate
            yield Figure("capacity: mixed requests", capacity, "/s")
            rate = capacity / 2
        database = exits.enter_context(
            Connection.connect(running.environment["DATABASE_URL"], autocommit=True)
        )
        watch = Sampler(processes, database, seconds=options.minutes * 60)
        load = Load(port, shops, rate=rate)
        load.run(options.minutes * 60, watching=watch.sample)
        yield from load.figures()
        yield from watch.figures()
        yield from events(running, database)
        database.execute("ANALYZE")  # autovacuum may not have run yet
        running.run("manage", "check_ledger")  # exits with 1 if an invariant is violated, and so does this
        yield Figure("check_ledger: invariants violated", 0, "", 0)


def start(running: Stack, port: int, exits: ExitStack) -> dict[str, Process]:
    [worker] = exits.enter_context(running.workers())
    schedule = str(running.folder / "schedule")
    [beat] = exits.enter_context(
        running.running("celery", "-A", "config", "beat", "--schedule", schedule, "--pidfile", "")
    )
    [web] = exits.enter_context(
        running.running(
            "gunicorn", "-c", "config/runtime/gunicorn.py", "config.wsgi", WEB_BIND=f"127.0.0.1:{port}"
        )
    )
    wait_until_open(port, child_of(web))
    wait_until(lambda: is_ready(port), seconds=60, what="web")
    return {"web": web, "worker": worker, "beat": beat}


def is_ready(port: int) -> bool:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=60) as answer:
        return bool(answer.status == 200)


class Load:
    """Merchants that send requests sequentially, limited to a total rate."""

    def __init__(self, port: int, shops: list[Credentials], *, rate: float) -> None:
        self._port, self._shops, self._pace = port, shops, rate
        self._turns = count()
        self._over = threading.Event()
        self._started = self._seconds = 0.0
        self.milliseconds: list[float] = []
        self.statuses: Counter[int] = Counter()

    @property
    def rate(self) -> float:
        return len(self.milliseconds) / self._seconds

    def run(self, seconds: float, *, watching: Any = None) -> "Load":
        self._started = time.monotonic()
        with ThreadPoolExecutor(MERCHANTS) as pool:
            merchants = [
                pool.submit(self._send_requests, self._shops[number % len(self._shops)])
                for number in range(MERCHANTS)
            ]
            try:
                while (passed := time.monotonic() - self._started) < seconds:
                    if watching:
                        watching(passed)
                    time.sleep(LOOK)
            finally:
                self._over.set()
        for merchant in merchants:
            merchant.result()
        self._seconds = time.monotonic() - self._started
        return self

    def figures(self) -> Iterator[Figure]:
        yield Figure("target request rate", self._pace, "/s")
        yield Figure("actual request rate", self.rate, "/s")
        yield Figure("request: p50", percentile(self.milliseconds, 0.5), "ms")
        yield Figure("request: p99", percentile(self.milliseconds, 0.99), "ms")
        unexpected = sum(number for status, number in self.statuses.items() if status // 100 != 2)
        yield Figure("answers other than 2xx", unexpected, "", 0, note=str(dict(self.statuses)))

    def _send_requests(self, shop: Credentials) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        for number in count():
            for method, target, body in requests_of_an_order(number):
                self._wait_for_turn()
                if self._over.is_set():
                    return
                self._send(connection, shop, method, target, body)

    def _wait_for_turn(self) -> None:
        turn_at = self._started + next(self._turns) / self._pace
        self._over.wait(max(0, turn_at - time.monotonic()))

    def _send(
        self, connection: http.client.HTTPConnection, shop: Credentials, method: str, target: str, body: Any
    ) -> None:
        raw = json.dumps(body).encode() if body else b""
        headers = signed_headers(shop, method, target, raw) | {"Content-Type": "application/json"}
        sent_at = time.perf_counter()
        connection.request(method, target, raw, headers)
        answer = connection.getresponse()
        answer.read()
        self.milliseconds.append((time.perf_counter() - sent_at) * 1000)
        self.statuses[answer.status] += 1


def requests_of_an_order(number: int) -> Iterator[tuple[str, str, Any]]:
    """Yield a merchant's requests about one order. Some are declined, some captured later, some refunded."""
    pan = orders.DECLINED_CARD if number % 10 == 9 else orders.GOOD_CARD
    captured_later = number % 5 == 1
    order = orders.card_payment(capture=not captured_later, source=orders.card_source(pan=pan))
    at = f"/api/payments/{order['reference']}"
    yield "POST", "/api/payments", order
    yield "GET", at, None
    if captured_later:
        yield "POST", f"{at}/capture", {"amount": order["amount"] // 2}
    if number % 5 == 3 and number % 10 != 9:
        yield "POST", f"{at}/refunds", {"reference": orders.new_reference(), "amount": 1_000}
    if number % 8 == 0:
        yield "GET", "/api/payments", None


class Sampler:
    """Samples during the load: memory of the service's processes, and lock waits."""

    def __init__(self, processes: dict[str, Process], database: Connection, *, seconds: float) -> None:
        self._processes, self._database = processes, database
        self._begins_at = min(WARM_UP, seconds / 3)
        self._every = min(MEMORY, seconds / 10)
        self._due = self._begins_at
        self._memory: dict[str, list[float]] = defaultdict(list)  # MB
        self._longest = 0.0

    def sample(self, passed: float) -> None:
        waits = self._database.execute(
            "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - waitstart)), 0)::float8 FROM pg_locks "
            "WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        (longest,) = waits.fetchone() or (0.0,)
        self._longest = max(self._longest, longest)
        if passed >= self._due:
            self._due += self._every
            for name, process in self._processes.items():
                for place, pid in enumerate(pids_of(process)):
                    self._memory[f"{name} {place}" if place else name].append(memory(pid, "VmRSS"))

    def figures(self) -> Iterator[Figure]:
        for name, taken in self._memory.items():
            some = max(len(taken) // 4, 1)
            before, after = median(taken[:some]), median(taken[-some:])
            note = f"{before:.0f} → {after:.0f} MB, {len(taken)} samples"
            yield Figure(f"memory of {name}: growth", (after / before - 1) * 100, "%", GROWTH, note=note)
        yield Figure("longest wait for a lock seen", self._longest, "s", LOCK_WAIT)


def pids_of(process: Process) -> list[int]:
    """Return the process and its children, which share its group, oldest first."""
    group, found = child_of(process).pid, []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended in the meantime
            continue
        if int(fields[2]) == group:
            found.append(int(stat.parent.name))
    return sorted(found)


def events(running: Stack, database: Connection) -> Iterator[Figure]:
    """Wait for the last event. Each finished payment must have one that has arrived."""

    def number_of(what: str) -> int:
        (number,) = database.execute(f"SELECT count(*) FROM {what}").fetchone() or (0,)
        return int(number)

    wait_until(lambda: not number_of("webhooks_delivery WHERE state = 'waiting'"), seconds=60, what="events")
    silent = number_of(
        "payments_transaction one WHERE status IN ('success', 'failed') AND awaiting = '' "
        "AND NOT EXISTS (SELECT 1 FROM webhooks_delivery WHERE subject = one.id)"
    )
    arrived = running.sink.arrivals()
    ids = [str(key) for (key,) in database.execute("SELECT id FROM webhooks_delivery").fetchall()]
    lost = sum(key not in arrived for key in ids)
    yield Figure("events", len(ids), "")
    yield Figure("finished payments without an event", silent, "", 0)
    yield Figure("events that did not arrive", lost, "", 0)


PARTS: dict[str, Part] = {"soak": soak}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, default=10, help="how long (default 10)")
    parser.add_argument("--rate", type=float, help="requests/s (default half of what is measured first)")
    parser.add_argument(
        "--measure", type=float, default=10, help="seconds to measure the capacity (default 10)"
    )


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
