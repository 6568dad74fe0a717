"""Effect of waiting polls of listeners on the duration of signed calls.

    .venv/bin/python benchmarks/listeners.py          (needs PostgreSQL and Redis; three minutes)
    .venv/bin/python benchmarks/listeners.py --parts sandbox --seconds 5

20 listeners of four businesses poll, each waiting up to ten seconds and obeying `poll_after`, while payments are
created and looked up at a fixed rate. Rounds with and without them alternate. Against the sandbox of `make run`, and
gunicorn with 2 workers of 4 threads.
"""

import argparse
import http.client
import json
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.figures import Figure, percentile
from benchmarks.parts import Part, run_parts
from benchmarks.slow_clients import WARM_UP, Calls, Server
from benchmarks.soak import start
from benchmarks.stack import stack
from tests.clients import Credentials, signed_headers
from tests.journeys.service import free_port, start_service

BUSINESSES, LISTENERS = 4, 5  # each business may have five
CRITERION = 2.0  # of the p99 without polls
LISTENER = "/api/sandbox/listeners"


class Poller:
    """A listener that polls until it is stopped, as `sluice listen` does."""

    def __init__(self, port: int, credentials: Credentials, name: str, stopped: threading.Event) -> None:
        self._port, self._credentials, self._name, self._stopped = port, credentials, name, stopped
        self.polls = 0

    def run(self) -> None:
        with closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)) as connection:
            self._post(connection, LISTENER, {"name": self._name})
            received: list[str] = []
            while not self._stopped.is_set():
                polled = self._post(connection, f"{LISTENER}/{self._name}/poll", {"ack": received})
                received = [event["event_id"] for event in polled["events"]]
                self.polls += 1
                self._stopped.wait(polled["poll_after"] * random.uniform(1, 1.5))
            self._post(connection, f"{LISTENER}/{self._name}/end", {})

    def _post(self, connection: http.client.HTTPConnection, target: str, document: dict) -> dict:
        body = json.dumps(document).encode()
        headers = signed_headers(self._credentials, "POST", target, body)
        connection.request("POST", target, body, headers | {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status >= 400:
            raise SystemExit(f"{target}: {answer.status} {text.decode()}")
        return dict(json.loads(text))


@contextmanager
def polls(port: int, businesses: list[Credentials]) -> Iterator[list[Poller]]:
    """Have all listeners of these businesses poll."""
    stopped = threading.Event()
    pollers = [
        Poller(port, credentials, f"listener-{number}", stopped)
        for credentials in businesses
        for number in range(LISTENERS)
    ]
    threads = [threading.Thread(target=poller.run, daemon=True) for poller in pollers]
    for thread in threads:
        thread.start()
    try:
        yield pollers
    finally:
        stopped.set()
        for thread in threads:
            thread.join()


def measure(
    name: str, server: Server, businesses: list[Credentials], options: argparse.Namespace
) -> Iterator[Figure]:
    """Measure calls without polls and with them, in turns."""
    Calls(server).run(WARM_UP, options.rate)
    alone: list[float] = []
    beside: list[float] = []
    count = failures = 0
    for _ in range(options.rounds):
        quiet = Calls(server).run(options.seconds, options.rate)
        with polls(server.port, businesses) as pollers:
            time.sleep(WARM_UP)
            calls = Calls(server).run(options.seconds, options.rate)
        alone.append(percentile(quiet.milliseconds, 0.99))
        beside.append(percentile(calls.milliseconds, 0.99))
        count += sum(poller.polls for poller in pollers)
        failures += quiet.failures.total() + calls.failures.total()
    yield Figure.of_rounds(f"{name}, undisturbed: p99", alone, "ms")
    yield Figure.of_rounds(f"{name}, with {BUSINESSES * LISTENERS} listeners: p99", beside, "ms")
    ratio = median(beside) / median(alone)
    seconds = options.rounds * options.seconds
    yield Figure(
        f"{name}: ratio of the p99", ratio, "times", CRITERION, note=f"{count / seconds:.0f} polls/s"
    )
    yield Figure(f"{name}: failed calls", failures, "", 0)


def sandbox(options: argparse.Namespace) -> Iterator[Figure]:
    """The sandbox on SQLite, as `make run` starts it. Its own business makes the calls."""
    with (
        TemporaryDirectory() as folder,
        start_service(Path(folder), DATABASE_URL="", REDIS_URL="") as service,
    ):
        others = [service.open_business(f"Shop {number}").credentials for number in range(BUSINESSES)]
        port = urlsplit(service.base_url).port or 0
        yield from measure("sandbox", Server(port, service.credentials), others, options)


def gunicorn(options: argparse.Namespace) -> Iterator[Figure]:
    """gunicorn with 2 workers of 4 threads, on PostgreSQL."""
    with ExitStack() as exits:
        running = exits.enter_context(stack(PROXIES_IN_FRONT="0"))
        seeded = json.loads(running.run("tests.faults.seed", f"{running.sink.url}/hook", str(BUSINESSES + 1)))
        port = free_port()
        start(running, port, exits)
        caller, *others = [Credentials(each["api_key"], each["secret_key"]) for each in seeded]
        yield from measure("gunicorn", Server(port, caller), others, options)


PARTS: dict[str, Part] = {"sandbox": sandbox, "gunicorn": gunicorn}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seconds", type=float, default=15, help="of signed calls in each round (default 15)"
    )
    parser.add_argument("--rate", type=float, default=20, help="signed calls a second (default 20)")
    parser.add_argument("--rounds", type=int, default=3, help="with and without polls (default 3)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
