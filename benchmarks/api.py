"""How fast the API answers, as ratios to two yardsticks taken in the same run.

    make bench                                    (needs PostgreSQL and pgbench)
    .venv/bin/python benchmarks/api.py --rounds 3 --requests 2000 --rows 10000

The service and the echo run under gunicorn with 2 workers of 4 threads; one client with 16 connections
takes turns with them in a closed loop. Machines are shared and noisy: read the ratios, not the rates.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import psycopg

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from benchmarks.load import Measured, drive, http_request, spread  # noqa: E402
from tests import orders  # noqa: E402
from tests.clients import signed_headers  # noqa: E402
from tests.journeys.service import Service, free_port, start_service, wait_until_open  # noqa: E402

DEFAULT_DATABASE = "postgres://postgres@127.0.0.1:5432/postgres"
CONNECTIONS = 16


def main() -> None:
    options = parse_arguments()
    os.environ.setdefault("DATABASE_URL", DEFAULT_DATABASE)
    print(f"load average before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        service = stack.enter_context(
            start_service(folder, LOG_REQUESTS="False", LOG_LEVEL="WARNING", REDIS_URL="")
        )
        bench = Bench(service, stack.enter_context(echo()), options.requests)
        bench.warm_up()
        for rows in options.rows:
            bench.fill(rows)
            bench.compare(options.rounds, rows)
        bench.insert_by_pgbench(options.rounds)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each kind (default 5)")
    parser.add_argument("--requests", type=int, default=3000, help="requests in a round (default 3000)")
    parser.add_argument(
        "--rows", type=int, nargs="*", default=[10_000, 1_000_000], help="rows in the table while measuring"
    )
    return parser.parse_args()


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
    """One running service, one echo, and the requests they are asked."""

    def __init__(self, service: Service, echo_port: int, requests: int) -> None:
        self.service = service
        self.port = urlsplit(service.base_url).port or 0
        self.echo_port = echo_port
        self.requests = requests
        self.references: list[str] = []

    def warm_up(self) -> None:
        for requests in (self.creates(400), self.lookups(400)):
            drive(self.port, requests, connections=CONNECTIONS)
        drive(self.echo_port, self.echoes(400), connections=CONNECTIONS)

    def compare(self, rounds: int, rows: int) -> None:
        """Take turns, and print medians with their spread."""
        kinds = {"echo": [], "POST": [], "GET": []}
        for _ in range(rounds):
            kinds["echo"].append(drive(self.echo_port, self.echoes(self.requests)))
            kinds["POST"].append(drive(self.port, self.creates(self.requests)))
            kinds["GET"].append(drive(self.port, self.lookups(self.requests)))
        print(f"\nwith {rows:,} rows, {rounds} rounds of {self.requests} requests, {CONNECTIONS} connections")
        print("            requests/s  [spread]                p50 ms    p99 ms   p99/p50")
        for kind, measured in kinds.items():
            self._print(kind, measured)
        for kind in ("POST", "GET"):
            ratios = [one.rate / bare.rate for one, bare in zip(kinds[kind], kinds["echo"], strict=True)]
            print(f"{kind} / echo: {median(ratios):.3f}  [{min(ratios):.3f} … {max(ratios):.3f}]")

    def _print(self, kind: str, measured: list[Measured]) -> None:
        unexpected = {status for one in measured for status in one.statuses if status >= 300}
        if unexpected:
            raise SystemExit(f"{kind} was answered with {unexpected}")
        p50, p99 = (median(one.percentile(share) for one in measured) for share in (0.5, 0.99))
        rates = spread([one.rate for one in measured])
        print(f"{kind:>8}  {rates:<34} {p50:8.2f}  {p99:8.2f}  {p99 / p50:8.1f}")

    def creates(self, count: int) -> list[bytes]:
        made = []
        for _ in range(count):
            order = orders.card_payment()
            self.references.append(order["reference"])
            made.append(self._signed("POST", "/api/payments", json.dumps(order).encode()))
        return made

    def lookups(self, count: int) -> list[bytes]:
        chosen = [secrets.choice(self.references) for _ in range(count)]
        return [self._signed("GET", f"/api/payments/{reference}") for reference in chosen]

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

    def _signed(self, method: str, target: str, body: bytes = b"") -> bytes:
        headers = signed_headers(self.service.credentials, method, target, body)
        if body:
            headers["Content-Type"] = "application/json"
        return http_request(method, target, body, headers)

    def fill(self, rows: int) -> None:
        """Bring the table to this many rows by copying one of them."""
        with self._connect() as connection:
            (present,) = connection.execute("SELECT count(*) FROM payments_transaction").fetchone()
            columns = [
                name
                for (name,) in connection.execute(
                    "SELECT column_name FROM information_schema.columns "
                    "WHERE table_name = 'payments_transaction' ORDER BY ordinal_position"
                )
            ]
            others = ", ".join(name for name in columns if name not in {"id", "reference"})
            started = time.monotonic()
            connection.execute(
                f"INSERT INTO payments_transaction (id, reference, {others}) "
                f"SELECT gen_random_uuid(), 'fill-' || gen_random_uuid(), {others} FROM "
                "(SELECT * FROM payments_transaction LIMIT 1) one, generate_series(1, %s)",
                [max(rows - present, 0)],
            )
            connection.execute("ANALYZE")
            connection.execute("CHECKPOINT")
            print(f"\nfilled to {max(rows, present):,} rows in {time.monotonic() - started:.0f} s")

    def insert_by_pgbench(self, rounds: int) -> None:
        """The second yardstick: the same rows, written by pgbench with the same commits."""
        with self._connect() as connection:
            script = pgbench_script(connection)
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
            file.write(script)
            file.flush()
            rates, posts = [], []
            for _ in range(rounds):
                rates.append(run_pgbench(self.service.environment["DATABASE_URL"], file.name))
                posts.append(drive(self.port, self.creates(self.requests)).rate)
        ratios = [post / rate for post, rate in zip(posts, rates, strict=True)]
        print(f"\npgbench, the same rows: {spread(rates)} transactions/s")
        print(f"POST / pgbench: {median(ratios):.3f}  [{min(ratios):.3f} … {max(ratios):.3f}]")

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(self.service.environment["DATABASE_URL"], autocommit=True)


def pgbench_script(connection: psycopg.Connection) -> str:
    """Return what one POST writes: a nonce, a transaction, its update, its transition; three commits."""
    (key_id,) = connection.execute("SELECT id FROM merchants_apikey LIMIT 1").fetchone()
    columns = [
        name
        for (name,) in connection.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'payments_transaction'"
        )
        if name not in {"id", "reference", "status", "awaiting", "finished_at", "amount_captured", "fee"}
    ]
    others = ", ".join(columns)
    return f"""
SELECT gen_random_uuid() AS id \\gset
INSERT INTO merchants_nonce (api_key_id, nonce, used_at) VALUES ({key_id}, ':id', now());
INSERT INTO payments_transaction (id, reference, status, awaiting, amount_captured, fee, {others})
  SELECT ':id', ':id', 'pending', 'rail', 0, 0, {others} FROM (SELECT * FROM payments_transaction LIMIT 1) one;
BEGIN;
SELECT * FROM payments_transaction WHERE id = ':id' FOR UPDATE;
UPDATE payments_transaction SET status = 'success', awaiting = '', finished_at = now(),
  amount_captured = amount WHERE id = ':id';
INSERT INTO payments_transition (transaction_id, attribute, before, after, cause, at)
  VALUES (':id', 'status', 'pending', 'success', 'rail', now());
COMMIT;
"""


def run_pgbench(url: str, script: str) -> float:
    command = ["pgbench", "-n", "-c", "8", "-j", "2", "-T", "5", "-f", script, url]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("tps"))
    return float(line.split()[2])


if __name__ == "__main__":
    main()
