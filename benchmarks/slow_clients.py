"""Effect of slow clients on the duration and success of signed calls.

    .venv/bin/python benchmarks/slow_clients.py          (needs PostgreSQL, Redis and nginx; five minutes)
    .venv/bin/python benchmarks/slow_clients.py --parts sandbox --seconds 5

200 clients send half of their headers, their body or a TLS handshake and then a byte a second, or never read
a large response, while payments are created and looked up at a fixed rate. Against the sandbox of `make run`, and
production's processes behind docs/operations/nginx.conf. None may fail, and the p99 stays below a second.
"""

import argparse
import http.client
import json
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.figures import Figure, percentile
from benchmarks.parts import Part, run_parts
from benchmarks.soak import start
from benchmarks.stack import stack
from kit.free_ports import free_port
from tests import orders
from tests.clients import Credentials, signed_headers
from tests.journeys.nginx import nginx
from tests.journeys.service import PROJECT, start_service

KINDS = ("headers", "body", "tls", "reading")
CRITERION = 1_000  # ms, a p99
WARM_UP = 3.0  # seconds of calls that are not measured
HEAD_START = 2.0  # seconds in which the slow clients connect
CALL_TIMEOUT = 30.0  # seconds
CONCURRENT_CALLS = 100  # threads: enough for calls that time out


@dataclass(frozen=True)
class Server:
    """A running service, with its certificate if it uses TLS."""

    port: int
    credentials: Credentials
    certificate: Path | None = None


@dataclass
class Calls:
    """Signed calls at a fixed rate, each measured from when it was due, so that a stall is not missed."""

    server: Server
    milliseconds: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        certificate = self.server.certificate
        self._context = ssl.create_default_context(cafile=certificate) if certificate else None

    def run(self, seconds: float, rate: float) -> "Calls":
        """Make payments, and look each up over the connection that made it."""
        started = time.perf_counter()
        with ThreadPoolExecutor(CONCURRENT_CALLS) as pool:
            for number in range(int(seconds * rate / 2)):
                due = started + number * 2 / rate
                time.sleep(max(due - time.perf_counter(), 0))
                pool.submit(self._pay_and_look_up, due)
        return self

    def _pay_and_look_up(self, due: float) -> None:
        order = orders.card_payment()
        with closing(self._connection()) as connection:
            self._call(connection, due, "POST", "/api/payments", json.dumps(order).encode())
            self._call(connection, time.perf_counter(), "GET", f"/api/payments/{order['reference']}")

    def _connection(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=CALL_TIMEOUT)
        return http.client.HTTPSConnection(
            "127.0.0.1", self.server.port, timeout=CALL_TIMEOUT, context=self._context
        )

    def _call(
        self, connection: http.client.HTTPConnection, due: float, method: str, target: str, body: bytes = b""
    ) -> None:
        headers = signed_headers(self.server.credentials, method, target, body)
        headers["Content-Type"] = "application/json"
        failure = ""
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status not in {200, 201}:
                failure = str(answer.status)
        except (OSError, http.client.HTTPException) as error:
            connection.close()  # the next call connects again
            failure = type(error).__name__
        with self._lock:
            self.milliseconds.append((time.perf_counter() - due) * 1000)
            if failure:
                self.failures[failure] += 1


@contextmanager
def slow_clients(kind: str, count: int, server: Server) -> Iterator[dict[str, int]]:
    """Run slow clients; report afterwards how many were connected at the end, and their number of connections."""
    command = [sys.executable, "-m", "benchmarks.trickle", kind, str(count), str(server.port)]
    if server.certificate and kind != "tls":
        command.append(str(server.certificate))
    process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    outcome: dict[str, int] = {}
    try:
        time.sleep(HEAD_START)
        yield outcome
    finally:
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=30)
    outcome.update(json.loads(printed))


def measure(name: str, server: Server, options: argparse.Namespace) -> Iterator[Figure]:
    """Measure calls without slow clients, and with each kind of slow client."""
    Calls(server).run(WARM_UP, options.rate)
    alone = Calls(server).run(options.seconds, options.rate)
    quiet = percentile(alone.milliseconds, 0.99)
    yield from figures(f"{name}, undisturbed", alone, spread(alone))
    for kind in KINDS:
        if kind == "tls" and server.certificate is None:
            continue
        with slow_clients(kind, options.clients, server) as outcome:
            calls = Calls(server).run(options.seconds, options.rate)
        times = percentile(calls.milliseconds, 0.99) / quiet
        held = f"{outcome['held']} held, {outcome['connections']} connections"
        yield from figures(
            f"{name}, slow {kind}", calls, f"{spread(calls)}; {times:.1f} of undisturbed; {held}"
        )


def figures(name: str, calls: Calls, note: str) -> Iterator[Figure]:
    yield Figure(f"{name}: p99", percentile(calls.milliseconds, 0.99), "ms", CRITERION, note=note)
    failed = ", ".join(f"{number} {what}" for what, number in calls.failures.items())
    note = f"of {len(calls.milliseconds)}{failed and f': {failed}'}"
    yield Figure(f"{name}: failed calls", calls.failures.total(), "", 0, note=note)


def spread(calls: Calls) -> str:
    return f"p50 {percentile(calls.milliseconds, 0.5):.0f}, most {max(calls.milliseconds):.0f} ms"


def sandbox(options: argparse.Namespace) -> Iterator[Figure]:
    """The sandbox on SQLite, as `make run` starts it."""
    with (
        TemporaryDirectory() as folder,
        start_service(Path(folder), DATABASE_URL="", REDIS_URL="") as service,
    ):
        port = urlsplit(service.base_url).port or 0
        yield from measure("sandbox", Server(port, service.credentials), options)


def behind_nginx(options: argparse.Namespace) -> Iterator[Figure]:
    """Production's processes behind nginx with the provided configuration."""
    with ExitStack() as exits:
        running = exits.enter_context(stack(PROXIES_IN_FRONT="1"))
        [seeded] = json.loads(running.run("tests.faults.seed", f"{running.sink.url}/hook", "1"))
        port = free_port()
        start(running, port, exits)
        folder = Path(exits.enter_context(TemporaryDirectory()))
        front = exits.enter_context(nginx(folder, upstream=f"127.0.0.1:{port}"))
        credentials = Credentials(seeded["api_key"], seeded["secret_key"])
        yield from measure("behind nginx", Server(front.tls, credentials, front.certificate), options)


PARTS: dict[str, Part] = {"sandbox": sandbox, "nginx": behind_nginx}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clients", type=int, default=200, help="slow clients of each kind (default 200)")
    parser.add_argument("--seconds", type=float, default=15, help="of signed calls in each case (default 15)")
    parser.add_argument("--rate", type=float, default=20, help="signed calls a second (default 20)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
