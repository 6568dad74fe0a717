"""Rate of new payments into virtual accounts and delay of their webhooks, and the effect of the pool's size
and of a hundred thousand sessions that end at once.

    .venv/bin/python benchmarks/virtual_accounts.py        (needs PostgreSQL and Redis)
    .venv/bin/python benchmarks/virtual_accounts.py --parts opening expiry --rounds 1 --requests 200 --due 2000

The service runs under gunicorn with 2 workers of 4 threads. Machines are shared and noisy: read the ratios, and the
load that is printed with them.
"""

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.copies import copy_of
from benchmarks.figures import Figure, percentile
from benchmarks.load import drive, http_request
from benchmarks.parts import Part, run_parts
from benchmarks.stack import Stack, running_sink
from tests import orders
from tests.clients import signed_headers
from tests.faults.processes import Redis
from tests.journeys.service import Service, start_service
from virtual_accounts import nuban

CONNECTIONS = 16
SMALL_POOL = 10_000
SERIALS_OF_OUR_OWN = 500_000_000  # far from the numbers that the service assigns
PACE = 25  # requests a second when latency is measured, so that the machine is not busy


class Bank:
    """A running service, with one dynamic account, and the database below it."""

    def __init__(self, stack: Stack, service: Service) -> None:
        self.stack, self.service = stack, service
        self.port = urlsplit(service.base_url).port or 0
        opened = service.client.post("/api/virtual-accounts", orders.dynamic_account())
        self.account_id = opened.json()["id"]

    def listen(self) -> None:
        """Subscribe the merchant to events, delivered to the sink."""
        self.service.command("configure_webhook", "--business", self.service.business, "--url", self.stack.sink.url,
                             "--events", "payment")  # fmt: skip

    def sessions(self, count: int) -> list[bytes]:
        return [self.signed("/api/payments", orders.transfer_payment(self.account_id)) for _ in range(count)]

    def cards(self, count: int) -> list[bytes]:
        return [self.signed("/api/payments", orders.card_payment()) for _ in range(count)]

    def signed(self, target: str, order: dict[str, object]) -> bytes:
        body = json.dumps(order).encode()
        headers = signed_headers(self.service.credentials, "POST", target, body)
        return http_request("POST", target, body, headers | {"Content-Type": "application/json"})

    def create_rate(self, requests: list[bytes]) -> float:
        measured = drive(self.port, requests, connections=CONNECTIONS)
        if set(measured.statuses) != {201}:
            raise SystemExit(f"It was answered with {measured.statuses}.")
        return measured.rate

    def create_one(self) -> float:
        """Return the milliseconds that one session takes to open."""
        return drive(self.port, self.sessions(1), connections=1).latencies[0]

    def stock(self, count: int, *, first_serial: int, holder: str | None = None) -> None:
        """Add numbers to the pool, free or assigned."""
        with self.connect() as connection:
            bank = connection.execute(
                "SELECT bank_code, bank_name FROM virtual_accounts_virtualaccount LIMIT 1"
            )
            code, name = bank.fetchone() or ("", "")
            columns = "number, bank_code, bank_name, free_at, holder_id, last_holder_id"
            rows = f"COPY virtual_accounts_accountnumber ({columns}) FROM STDIN"
            free_at = None if holder else "2026-01-01T00:00:00Z"
            with connection.cursor().copy(rows) as copy:
                for serial in range(first_serial, first_serial + count):
                    number = nuban.account_number(code, serial)
                    copy.write_row((number, code, name, free_at, holder, holder))
            connection.execute("VACUUM ANALYZE virtual_accounts_accountnumber")
            connection.execute("CHECKPOINT")

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self.service.environment["DATABASE_URL"], autocommit=True)


@contextmanager
def bank(**extra_environment: str) -> Iterator[Bank]:
    with TemporaryDirectory() as name, running_sink() as sink:
        redis = Redis(Path(name))
        redis.start()
        try:
            quiet = {
                "LOG_REQUESTS": "False",
                "LOG_LEVEL": "WARNING",
                "REDIS_URL": f"redis://127.0.0.1:{redis.port}/0",
                "DJANGO_SETTINGS_MODULE": "config.settings",
            }
            with start_service(Path(name), **quiet | extra_environment) as service:
                yield Bank(Stack(Path(name), service.environment, sink), service)
        finally:
            redis.kill()


def opening(options: argparse.Namespace) -> Iterator[Figure]:
    """Compare opening a session with paying by card, in turns. The pool is refilled on demand."""
    with bank() as running:
        for requests in (running.cards(200), running.sessions(200)):
            running.create_rate(requests)
        cards, sessions = [], []
        for _ in range(options.rounds):
            cards.append(running.create_rate(running.cards(options.requests)))
            sessions.append(running.create_rate(running.sessions(options.requests)))
    yield Figure.of_rounds("card payments created", cards, "/s")
    yield Figure.of_rounds("sessions opened", sessions, "/s")
    yield Figure.of_ratios("opening a session, of a card payment's rate", sessions, cards, 0.8)


def arrival(options: argparse.Namespace) -> Iterator[Figure]:
    """Latency from the request of a simulated transfer to its webhook, with one Celery worker."""
    with bank() as running, running.stack.workers():
        running.listen()
        transfers(running, seconds=3)  # warm
        delays = transfers(running, seconds=options.seconds)
    yield Figure(f"{PACE} transfers/s: p50 from request to webhook", percentile(delays, 0.5), "ms")
    yield Figure(f"{PACE} transfers/s: p95", percentile(delays, 0.95), "ms", 150)


def transfers(running: Bank, *, seconds: float) -> list[float]:
    """Simulate transfers at a steady rate; return the delay of each webhook in milliseconds."""
    sink, sent_at = running.stack.sink, {}
    sink.reset()
    payments = [
        running.service.client.post("/api/payments", orders.transfer_payment(running.account_id)).json()
        for _ in range(int(PACE * seconds))
    ]
    started = time.monotonic()
    for number, payment in enumerate(payments):
        transfer = {
            "account_number": payment["virtual_account_details"]["account_number"],
            "amount": payment["amount"],
        }
        request = running.signed("/api/virtual-accounts/simulate", transfer)
        sent_at[payment["id"]] = time.time()
        drive(running.port, [request], connections=1)
        time.sleep(max(0.0, started + (number + 1) / PACE - time.monotonic()))
    sink.wait_for(len(payments), seconds=60)
    arrived_at = sink.arrivals()
    with running.connect() as connection:
        found = connection.execute("SELECT id, subject FROM webhooks_delivery").fetchall()
    payment_of = {str(delivery): str(payment) for delivery, payment in found}
    return [(at - sent_at[payment_of[delivery]]) * 1000 for delivery, at in arrived_at.items()]


def pool(options: argparse.Namespace) -> Iterator[Figure]:
    """Measure taking a number from a small and a very large pool, in turns."""
    with bank() as small, bank() as large:
        small.stock(SMALL_POOL, first_serial=SERIALS_OF_OUR_OWN)
        large.stock(options.pool, first_serial=SERIALS_OF_OUR_OWN)
        of_few, of_many = [], []
        for _ in range(options.rounds):
            of_few.append(take(small, SMALL_POOL // 2 // options.rounds))
            of_many.append(take(large, SMALL_POOL // 2 // options.rounds))
    p50 = {}
    for size, rounds in ((SMALL_POOL, of_few), (options.pool, of_many)):
        p50[size], p99 = ([percentile(one, share) for one in rounds] for share in (0.5, 0.99))
        yield Figure.of_rounds(f"taking a number of {size:,}: p50", p50[size], "ms")
        yield Figure.of_rounds(f"taking a number of {size:,}: p99", p99, "ms")
    few, many = p50.values()
    yield Figure.of_ratios("the large pool's p50, of the small one's", many, few, 1.25, at_least=False)


def take(running: Bank, count: int) -> list[float]:
    return list(json.loads(running.stack.run_with_django("benchmarks.take_numbers", str(count))))


def expiry(options: argparse.Namespace) -> Iterator[Figure]:
    """Measure the end of many sessions at once, and its effect on opening new ones."""
    with bank() as running:
        running.listen()
        running.create_rate(running.sessions(200))  # warm
        fall_due(running, options.due)
        quiet = [latency for _, latency in created_during(running, lambda: time.sleep(options.seconds))]
        meanwhile = created_during(running, lambda: running.service.command("expire_due"))
        with running.connect() as connection:
            first, last, ended = connection.execute(
                "SELECT extract(epoch FROM min(ended_at)), extract(epoch FROM max(ended_at)), count(*) "
                "FROM virtual_accounts_session WHERE status = 'expired'"
            ).fetchone() or (0, 0, 0)
    if ended != options.due:
        raise SystemExit(f"{ended} of {options.due} sessions were expired.")
    busy = [latency for at, latency in meanwhile if float(first) <= at <= float(last)]
    yield Figure(
        f"{options.due:,} sessions due at once: ended",
        ended / float(last - first),
        "/s",
        2_000,
        at_least=True,
    )
    yield Figure(
        "opening a session when none expire: p99", percentile(quiet, 0.99), "ms", note=f"of {len(quiet)}"
    )
    yield Figure(
        "opening a session while sessions expire: p99", percentile(busy, 0.99), "ms", note=f"of {len(busy)}"
    )
    yield Figure("ratio of these p99", percentile(busy, 0.99) / percentile(quiet, 0.99), "", 3)


def created_during(running: Bank, act: Callable[[], object]) -> list[tuple[float, float]]:
    """Open sessions at a steady rate during another operation; return the times and durations in milliseconds."""
    acting = threading.Thread(target=act)
    acting.start()
    took: list[tuple[float, float]] = []
    while acting.is_alive():
        started = time.monotonic()
        took.append((time.time(), running.create_one()))
        time.sleep(max(0.0, started + 1 / PACE - time.monotonic()))
    acting.join()
    return took


def fall_due(running: Bank, count: int) -> None:
    """Insert open payments with expired sessions, by copying one of them."""
    running.stock(count, first_serial=SERIALS_OF_OUR_OWN, holder=running.account_id)
    with running.connect() as connection:
        (session_id,) = connection.execute(
            "SELECT id FROM virtual_accounts_session WHERE status = 'pending' LIMIT 1"
        ).fetchone() or ("",)
        connection.execute(
            copy_of(
                connection,
                "virtual_accounts_session",
                like_one(
                    "virtual_accounts_session",
                    "id = %s",
                    "virtual_accounts_accountnumber WHERE number >= %s AND holder_id IS NOT NULL",
                ),
                {
                    "id": "gen_random_uuid()",
                    "number_id": "source.number",
                    "opened_at": "now() - interval '1 hour'",
                    "expires_at": "now() - interval '1 minute'",
                },
            ),
            [session_id, str(SERIALS_OF_OUR_OWN * 10)],
        )
        connection.execute(
            copy_of(
                connection,
                "payments_transaction",
                like_one(
                    "payments_transaction",
                    "session_id = %s",
                    "virtual_accounts_session WHERE number_id >= %s AND status = 'pending'",
                ),
                {
                    "id": "gen_random_uuid()",
                    "reference": "'due-' || gen_random_uuid()",
                    "session_id": "source.id",
                },
            ),
            [session_id, str(SERIALS_OF_OUR_OWN * 10)],
        )
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


def like_one(table: str, which: str, source: str) -> str:
    """Return the FROM clause of a copy: one row of a table, joined with each row of a source."""
    return f"(SELECT * FROM {table} WHERE {which}) one, (SELECT * FROM {source}) source"


PARTS: dict[str, Part] = {
    "opening": opening,
    "arrival": arrival,
    "pool": pool,
    "expiry": expiry,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each kind (default 5)")
    parser.add_argument("--requests", type=int, default=3_000, help="requests in a round (default 3000)")
    parser.add_argument("--seconds", type=float, default=30, help="of each steady load (default 30)")
    parser.add_argument(
        "--pool", type=int, default=1_000_000, help="numbers in the large pool (default 1000000)"
    )
    parser.add_argument("--due", type=int, default=100_000, help="sessions that end at once (default 100000)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
