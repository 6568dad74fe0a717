"""Speed and cost of sending a backlog of webhook deliveries, in two releases.

Each release sends with two Celery workers to the same receiver. The backlog exists before they begin: copies of a
delivery that a signed payment made, spread over businesses whose endpoints differ in their path.
"""

import argparse
import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import psycopg

from benchmarks.api import signed
from benchmarks.comparisons import Comparison, in_turns
from benchmarks.copies import copy_of
from benchmarks.cpu_time import cpu_seconds, used_between
from benchmarks.load import drive
from benchmarks.releases import Release
from benchmarks.stack import WORKER, Sink, child_of, running_sink, wait_for_workers, wait_until
from tests import orders
from tests.faults.processes import Process

BUSINESS = "Webhook Books"
SHOPS = 100  # businesses, the copied one included
WORKERS = 2


@dataclass(frozen=True)
class Round:
    """A backlog sent by one release. CPU is milliseconds per delivery."""

    rate: float
    sender_cpu: float
    database_cpu: float


@dataclass
class Sending:
    """A release with a business, copies of it, and one delivery to copy."""

    release: Release
    sink: Sink

    def prepare(self) -> None:
        merchant = self.release.create_business(BUSINESS)
        self.release.manage(
            "configure_webhook", "--business", BUSINESS, "--url", f"{self.sink.url}/0", "--events", "payment"
        )
        payment = signed(merchant, "POST", "/api/payments", json.dumps(orders.card_payment()).encode())
        drive(self.release.port, [payment], connections=1)
        with self._connected() as connection:
            connection.execute(_copied_shops(connection), [SHOPS - 1])

    def fill(self, count: int) -> None:
        with self._connected() as connection:
            connection.execute(_copied_deliveries(connection), [count])
            connection.execute("ANALYZE")
            connection.execute("CHECKPOINT")

    def measure(self, count: int) -> Round:
        with self._workers() as workers:
            for worker in workers:
                worker.send(signal.SIGSTOP)
            self.fill(count)
            self.sink.reset()
            pids = [child_of(worker).pid for worker in workers]
            senders, database = cpu_seconds(pids), self.release.cpu_of_database()
            for worker in workers:
                worker.send(signal.SIGCONT)
            self.sink.wait_for(count, seconds=60 + count / 50)
            self._wait_until_recorded()
            sender_seconds = used_between(senders, cpu_seconds(pids))
            database_seconds = used_between(database, self.release.cpu_of_database())
            return Round(
                rate=self.sink.rate(),
                sender_cpu=sender_seconds / count * 1000,
                database_cpu=database_seconds / count * 1000,
            )

    @contextmanager
    def _workers(self) -> Iterator[list[Process]]:
        """Run Celery workers of the release, and wait until they are ready."""
        with ExitStack() as exits:
            workers = [
                exits.enter_context(
                    self.release.running(f"worker-{number}", *WORKER, "--hostname", f"{number}@localhost")
                )
                for number in range(WORKERS)
            ]
            wait_for_workers(self.release.environment["REDIS_URL"], WORKERS)
            try:
                yield workers
            finally:
                for worker in workers:  # a stopped process would not end
                    worker.send(signal.SIGCONT)

    def _wait_until_recorded(self) -> None:
        with self._connected() as connection:
            wait_until(lambda: not _are_waiting(connection), seconds=60, what="results")

    def _connected(self) -> psycopg.Connection:
        return psycopg.connect(self.release.database_url, autocommit=True)


def webhooks(base: Release, new: Release, options: argparse.Namespace) -> Iterator[Comparison]:
    """Compare how fast both releases send a backlog of `options.backlog` deliveries."""
    with running_sink() as sink:
        pair = [Sending(release, sink) for release in (base, new)]
        for sending in pair:
            sending.prepare()
        rounds = in_turns(pair, lambda sending: sending.measure(options.backlog), rounds=options.rounds)
    yield from comparisons(options.backlog, *rounds)


def comparisons(count: int, base: Sequence[Round], new: Sequence[Round]) -> Iterator[Comparison]:
    """Return the figures of a backlog."""

    def compared(what: str, unit: str, attribute: str) -> Comparison:
        return Comparison.of(f"backlog of {count:,}, {WORKERS} workers: {what}", unit, base, new, attribute)

    yield compared("deliveries", "/s", "rate")
    yield compared("CPU of the workers each", "ms", "sender_cpu")
    yield compared("CPU of PostgreSQL each", "ms", "database_cpu")


def _copied_shops(connection: psycopg.Connection) -> str:
    """Return the statement that copies the business and its endpoint, for each number from 1 to a parameter."""
    business = copy_of(
        connection,
        "merchants_business",
        "shop, merchants_business AS one WHERE one.id IN (SELECT business_id FROM webhooks_endpoint)",
        {"id": "shop.business_id"},
    )
    endpoint = copy_of(
        connection,
        "webhooks_endpoint",
        "shop, webhooks_endpoint AS one",
        {"business_id": "shop.business_id", "url": "regexp_replace(one.url, '0$', shop.number::text)"},
        but=frozenset({"id"}),
    )
    return (
        "WITH shop AS MATERIALIZED (SELECT number, gen_random_uuid() AS business_id FROM generate_series(1, %s) number), "
        f"business AS ({business}) {endpoint}"
    )


def _copied_deliveries(connection: psycopg.Connection) -> str:
    """Return the statement that copies the first delivery as due ones, as many as a parameter, to all businesses in turn."""
    changes = {
        "id": "gen_random_uuid()",
        "subject": "gen_random_uuid()",
        "business_id": "shop.business_id",
        "state": "'waiting'",
        "attempts_made": "0",
        # Each is due a little later than the one before, so that the businesses take turns.
        "next_attempt_at": "now() - interval '1 second' + number * interval '1 microsecond'",
        "created_at": "now()",
        "delivered_at": "NULL",
    }
    source = (
        "generate_series(1, %s) number "
        f"JOIN (SELECT business_id, row_number() OVER () AS place FROM webhooks_endpoint) shop ON shop.place = number %% {SHOPS} + 1, "
        "(SELECT * FROM webhooks_delivery ORDER BY created_at LIMIT 1) one ORDER BY number"
    )
    return copy_of(connection, "webhooks_delivery", source, changes)


def _are_waiting(connection: psycopg.Connection) -> bool:
    found = connection.execute(
        "SELECT EXISTS (SELECT FROM webhooks_delivery WHERE state = 'waiting')"
    ).fetchone()
    return bool(found and found[0])
