"""Speed of the API, as ratios to two yardsticks measured in the same run.

    .venv/bin/python benchmarks/api.py            (needs PostgreSQL, pgbench and Redis)
    .venv/bin/python benchmarks/api.py --rounds 3 --requests 2000 --rows 10000

The service and the echo run under gunicorn with 2 workers of 4 threads, the service as in production: with Redis, and
with a webhook endpoint of each merchant. One client with 16 connections alternates
between them in a closed loop. Payments of one merchant are booked on the same three accounts, one after the other, so
they are measured for one merchant and for several. Machines are shared and noisy: compare ratios, not rates.
"""

import argparse
import json
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.copies import copy_of, fill_transactions
from benchmarks.figures import Figure
from benchmarks.load import Measured, beside, drive, http_request
from benchmarks.parts import Part, run_parts
from benchmarks.pgbench import BOOKING, choosing, pgbench_rate
from kit.free_ports import free_port
from tests import orders
from tests.clients import Credentials, signed_headers
from tests.faults.processes import Redis
from tests.journeys.service import PROJECT, Service, start_service, wait_until_open

CONNECTIONS = 16
MERCHANTS = 8
POST_OF_ALL = f"POST of {MERCHANTS} merchants"
REPLAY = "repeated POST"
FORGED_RATE = 200  # calls a second with a known key and a wrong signature, from one address
BESIDE_FORGED = f"GET beside {FORGED_RATE} forged calls/s"
SHARES_OF_THE_ECHO = {"POST": 0.3, POST_OF_ALL: 0.3, "GET": 0.5}  # targets
TAIL = 4  # maximum ratio of p99 to p50


def api(options: argparse.Namespace) -> Iterator[Figure]:
    """Compare the service with the echo, with few and many rows, and then with pgbench."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        redis = Redis(folder)
        redis.start()
        stack.callback(redis.kill)
        service = stack.enter_context(
            start_service(
                folder,
                REDIS_URL=f"redis://127.0.0.1:{redis.port}/0",
                LOG_REQUESTS="False",
                LOG_LEVEL="WARNING",
                REQUEST_LOG_READS="False",
            )
        )
        bench = Bench(service, stack.enter_context(echo()), options.requests)
        bench.warm_up()
        for rows in options.rows:
            bench.fill(rows)
            yield from bench.compare(options.rounds, rows)
        yield from bench.insert_by_pgbench(options.rounds)


@contextmanager
def echo() -> Iterator[int]:
    """Run the bare view under the same server; yield its port."""
    port = free_port()
    command = [
        sys.executable, "-m", "gunicorn", "benchmarks.echo", "--bind", f"127.0.0.1:{port}", "--workers", "2",
        "--worker-class", "gthread", "--threads", "4", "--no-control-socket", "--log-level", "error",
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=PROJECT)
    try:
        wait_until_open(port, process)
        yield port
    finally:
        process.terminate()
        process.wait()


class Bench:
    """A running service, an echo, and the requests sent to them."""

    def __init__(self, service: Service, echo_port: int, requests: int) -> None:
        self.service = service
        self.port = urlsplit(service.base_url).port or 0
        self.echo_port = echo_port
        self.requests = requests
        names = [f"Shop {number}" for number in range(1, MERCHANTS)]
        self.merchants = [service.credentials, *(service.open_business(name).credentials for name in names)]
        for business in (service.business, *names):
            self._configure_webhook(business)
        self.made: list[tuple[Credentials, str, bytes]] = []  # merchant, reference and body

    def _configure_webhook(self, business: str) -> None:
        """Give a business an endpoint, so that payments store deliveries. No process sends them."""
        hook = ("--business", business, "--url", "http://127.0.0.1:9/", "--events", "payment")
        configured = self.service.command("configure_webhook", *hook)
        if configured.returncode:
            raise SystemExit(configured.stderr)

    def warm_up(self) -> None:
        for requests in (self.creates(400, of=self.merchants), self.lookups(400)):
            drive(self.port, requests, connections=CONNECTIONS)
        drive(self.echo_port, self.echoes(400), connections=CONNECTIONS)

    def compare(self, rounds: int, rows: int) -> Iterator[Figure]:
        """Take turns with the echo."""
        kinds = ("echo", "POST", POST_OF_ALL, "GET", REPLAY, BESIDE_FORGED)
        measured: dict[str, list[Measured]] = {kind: [] for kind in kinds}
        for _ in range(rounds):
            measured["echo"].append(drive(self.echo_port, self.echoes(self.requests)))
            measured["POST"].append(drive(self.port, self.creates(self.requests)))
            measured[POST_OF_ALL].append(drive(self.port, self.creates(self.requests, of=self.merchants)))
            measured["GET"].append(drive(self.port, self.lookups(self.requests)))
            measured[REPLAY].append(drive(self.port, self.replays(self.requests)))
            with beside(self.forge):
                measured[BESIDE_FORGED].append(drive(self.port, self.lookups(self.requests)))
        for kind, taken in measured.items():
            unexpected = {status for one in taken for status in one.statuses if status >= 300}
            if unexpected:
                raise SystemExit(f"{kind} was answered with {unexpected}")
            name = f"{kind}, {rows:,} rows"
            yield Figure.of_rounds(name, [one.rate for one in taken], "/s")
            p50, p99 = ([one.percentile(share) for one in taken] for share in (0.5, 0.99))
            yield Figure.of_rounds(f"{name}: p50", p50, "ms")
            yield Figure.of_ratios(f"{name}: p99, of the p50", p99, p50, TAIL, at_least=False)
        for kind, target in SHARES_OF_THE_ECHO.items():
            ours, bare = ([one.rate for one in measured[which]] for which in (kind, "echo"))
            yield Figure.of_ratios(f"{kind}, {rows:,} rows, of the echo", ours, bare, target)
        for kind, usual in ((REPLAY, "POST"), (BESIDE_FORGED, "GET")):
            ours, others = ([one.rate for one in measured[which]] for which in (kind, usual))
            yield Figure.of_ratios(f"{kind}, {rows:,} rows, of a {usual}", ours, others)

    def creates(self, count: int, *, of: Sequence[Credentials] = ()) -> list[bytes]:
        """Return payments of these merchants in turns, or of one."""
        asked = []
        for merchant in islice(cycle(of or self.merchants[:1]), count):
            order = orders.card_payment()
            body = json.dumps(order).encode()
            self.made.append((merchant, order["reference"], body))
            asked.append(signed(merchant, "POST", "/api/payments", body))
        return asked

    def lookups(self, count: int) -> list[bytes]:
        chosen = [secrets.choice(self.made) for _ in range(count)]
        return [signed(merchant, "GET", f"/api/payments/{reference}") for merchant, reference, _ in chosen]

    def replays(self, count: int) -> list[bytes]:
        """Return payments that were made before. Their card is compared under a lock (decision 0017)."""
        chosen = [secrets.choice(self.made) for _ in range(count)]
        return [signed(merchant, "POST", "/api/payments", body) for merchant, _, body in chosen]

    def forge(self, is_over: threading.Event) -> None:
        """Make forged calls with the public id of a key."""
        stranger, pieces = replace(self.merchants[0], secret_key="a guess"), FORGED_RATE // 10
        while not is_over.wait(0.1):
            drive(self.port, [signed(stranger, "GET", "/api/payments")] * pieces, connections=1)

    def echoes(self, count: int) -> list[bytes]:
        return [
            http_request(
                "POST",
                "/echo",
                json.dumps(orders.card_payment()).encode(),
                {"Content-Type": "application/json"},
            )
            for _ in range(count)
        ]

    def fill(self, rows: int) -> None:
        """Fill the table to this many rows by copying one of them."""
        with self._connect() as connection:
            fill_transactions(connection, rows)

    def insert_by_pgbench(self, rounds: int) -> Iterator[Figure]:
        """The second yardstick: the same rows, written by pgbench with the same commits."""
        with self._connect() as connection:
            script = pgbench_script(connection)
        url = self.service.environment["DATABASE_URL"]
        rates, posts = [], []
        for _ in range(rounds):
            rates.append(pgbench_rate(url, script, clients=8, seconds=5))
            posts.append(drive(self.port, self.creates(self.requests, of=self.merchants)).rate)
        yield Figure.of_rounds(f"the rows of a {POST_OF_ALL}, by pgbench", rates, "/s")
        yield Figure.of_ratios(f"{POST_OF_ALL}, of pgbench", posts, rates)

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(self.service.environment["DATABASE_URL"], autocommit=True)


def signed(merchant: Credentials, method: str, target: str, body: bytes = b"") -> bytes:
    headers = signed_headers(merchant, method, target, body)
    if body:
        headers["Content-Type"] = "application/json"
    return http_request(method, target, body, headers)


def pgbench_script(connection: psycopg.Connection) -> str:
    """Return the writes of one POST: a nonce, a transaction, and its transition with a booking; three commits."""
    (key_id,) = connection.execute("SELECT id FROM merchants_apikey LIMIT 1").fetchone() or (0,)
    insert = copy_of(
        connection,
        "payments_transaction",
        "(SELECT * FROM payments_transaction LIMIT 1) one",
        {
            "id": "':id'",
            "business_id": "':business'",
            "reference": "':id'",
            "status": "'pending'",
            "awaiting": "'rail'",
            "amount_captured": "0",
            "fee": "0",
        },
        but=frozenset({"finished_at"}),
    )
    businesses = [one for (one,) in connection.execute("SELECT DISTINCT business_id FROM ledger_account")]
    return f"""{choosing(connection, businesses)}
SELECT gen_random_uuid() AS id \\gset
INSERT INTO merchants_nonce (api_key_id, nonce, used_at) VALUES ({key_id}, ':id', now());
{insert};
BEGIN;
SELECT * FROM payments_transaction WHERE id = ':id' FOR UPDATE;
UPDATE payments_transaction SET status = 'success', awaiting = '', finished_at = now(),
  amount_captured = amount WHERE id = ':id';
INSERT INTO payments_transition (transaction_id, attribute, before, after, cause, at)
  VALUES (':id', 'status', 'pending', 'success', 'rail', now());
{BOOKING}COMMIT;
"""


PARTS: dict[str, Part] = {"api": api}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each kind (default 5)")
    parser.add_argument("--requests", type=int, default=3_000, help="requests in a round (default 3000)")
    parser.add_argument(
        "--rows", type=int, nargs="*", default=[10_000, 1_000_000], help="rows in the table while measuring"
    )


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
