"""What one payment costs: CPU, write-ahead log, disk and connections. docs/scaling.md calculates with these figures.

    .venv/bin/python benchmarks/capacity.py            (needs PostgreSQL and Redis)
    .venv/bin/python benchmarks/capacity.py --payments 2000

The whole service with a PostgreSQL server of its own: web (2 workers of 4 threads), one Celery worker, beat and a
receiver of webhooks. A business makes card payments at the sandbox's acquirer in a closed loop, and then looks them up.
All costs are counted until the webhooks have arrived and the dashboard's search finds the payments. They depend less
on other work of the machine than rates do.
"""

import argparse
import os
import re
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit
from urllib.request import urlopen

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.api import signed
from benchmarks.cpu_time import children_of, cpu_seconds, used_between
from benchmarks.figures import Figure
from benchmarks.load import drive
from benchmarks.parts import Part, run_parts
from benchmarks.signed_payments import SignedPayment, signed_payments
from benchmarks.stack import Stack, child_of, running_sink, wait_until
from tests.faults.postgresql import PostgreSQL, running_postgresql
from tests.faults.processes import Process, Redis
from tests.journeys.service import Service, start_service

MOST_TABLES = 12  # that are listed, largest first
KB = 1_000


@dataclass
class Deployment:
    """The processes of a whole service."""

    server: PostgreSQL
    service: Service
    stack: Stack
    background: list[Process]  # worker and beat

    def cpu_of_web(self) -> dict[int, float]:
        return cpu_seconds(_with_children(self.service.pid))

    def cpu_of_background(self) -> dict[int, float]:
        return cpu_seconds(
            pid for process in self.background for pid in _with_children(child_of(process).pid)
        )

    def cpu_of_database(self) -> dict[int, float]:
        return cpu_seconds(_with_children(child_of(self.server).pid))

    def metric(self, name: str) -> float:
        with urlopen(f"{self.service.base_url}/metrics", timeout=60) as answer:  # noqa: S310  (our own service)
            found = re.search(rf"^{name} (\S+)$", answer.read().decode(), re.MULTILINE)
        if found is None:
            raise SystemExit(f"There is no metric {name}.")
        return float(found[1])

    def wait_until_done(self, webhooks: int) -> None:
        """Wait until this many webhooks have arrived and the dashboard's search is up to date."""
        self.stack.sink.wait_for(webhooks, seconds=600)
        wait_until(lambda: not self.metric("sluice_search_lag_seconds"), seconds=600, what="the search")
        wait_until(
            lambda: not self.metric("sluice_deliveries_due"), seconds=600, what="results of deliveries"
        )

    def query(self, statement: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.service.environment["DATABASE_URL"], autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []


def capacity(options: argparse.Namespace) -> Iterator[Figure]:
    with deployment() as deployed:
        port = urlsplit(deployed.service.base_url).port or 0
        merchant = deployed.service.credentials
        _pay(port, signed_payments([merchant], options.warm_up))
        deployed.wait_until_done(options.warm_up)
        deployed.query("VACUUM ANALYZE")
        deployed.query("CHECKPOINT")
        payments = signed_payments([merchant], options.payments)
        sizes = _sizes(deployed)
        yield from _costs(deployed, "payment", options.payments, lambda: _pay(port, payments))
        yield from _growth(sizes, _sizes(deployed), options.payments)
        lookups = [
            signed(merchant, "GET", f"/api/payments/{secrets.choice(payments).reference}")
            for _ in range(options.payments)
        ]
        yield from _costs(deployed, "lookup", options.payments, lambda: drive(port, lookups))
        ((connections,),) = deployed.query(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        yield Figure("connections of web (2 x 4 threads), worker and beat", float(str(connections)), "")


@contextmanager
def deployment() -> Iterator[Deployment]:
    with ExitStack() as exits:
        server = exits.enter_context(running_postgresql())
        os.environ["DATABASE_URL"] = server.url
        folder = Path(exits.enter_context(TemporaryDirectory()))
        redis = Redis(folder)
        redis.start()
        exits.callback(redis.kill)
        service = exits.enter_context(
            start_service(
                folder,
                REDIS_URL=f"redis://127.0.0.1:{redis.port}/0",
                LOG_REQUESTS="False",
                LOG_LEVEL="WARNING",
                DJANGO_SETTINGS_MODULE="config.settings",
            )
        )
        sink = exits.enter_context(running_sink())
        hook = ("--business", service.business, "--url", sink.url, "--events", "payment")
        configured = service.command("configure_webhook", *hook)
        if configured.returncode:
            raise SystemExit(configured.stderr)
        stack = Stack(folder, service.environment, sink)
        workers = exits.enter_context(stack.workers())
        beat = exits.enter_context(
            stack.running(
                "celery", "-A", "config", "beat", "--schedule", str(folder / "beat"), "--pidfile", ""
            )
        )
        yield Deployment(server, service, stack, [*workers, *beat])


def _costs(deployed: Deployment, what: str, count: int, work: Callable[[], object]) -> Iterator[Figure]:
    """Do the work, and yield its CPU time and write-ahead log, for each of `count`."""
    arrived = deployed.stack.sink.count()
    readings = (deployed.cpu_of_web, deployed.cpu_of_background, deployed.cpu_of_database)
    before = [read() for read in readings]
    deployed.query("SELECT pg_stat_reset_shared('wal')")
    work()
    deployed.wait_until_done(arrived + count if what == "payment" else arrived)
    names = ("web", "worker and beat", "PostgreSQL")
    for name, read, earlier in zip(names, readings, before, strict=True):
        used = used_between(earlier, read())
        yield Figure(f"{what}: CPU of {name}", used / count * 1_000, "ms")
    ((size, images),) = deployed.query("SELECT wal_bytes::float8, wal_fpi::float8 FROM pg_stat_wal")
    note = f"{float(str(images)) / count:.2f} page images each"
    yield Figure(f"{what}: write-ahead log", float(str(size)) / count / KB, "kB", note=note)


def _pay(port: int, payments: list[SignedPayment]) -> None:
    measured = drive(port, [payment.request for payment in payments])
    if set(measured.statuses) != {201}:
        raise SystemExit(f"Payments were answered with {measured.statuses}")


def _sizes(deployed: Deployment) -> dict[str, tuple[int, int]]:
    """Return the bytes of each table's rows and indexes."""
    found = deployed.query(
        "SELECT relname, pg_table_size(relid), pg_indexes_size(relid) FROM pg_stat_user_tables"
    )
    return {str(name): (int(str(rows)), int(str(indexes))) for name, rows, indexes in found}


def _growth(
    before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]], count: int
) -> Iterator[Figure]:
    """Yield the bytes of each payment on the disk, of all tables and of the largest."""
    grown = {
        name: tuple(now - earlier for now, earlier in zip(after[name], before[name], strict=True))
        for name in after
    }
    rows, indexes = (sum(sizes[place] for sizes in grown.values()) for place in (0, 1))
    yield Figure("payment: rows on the disk", rows / count / KB, "kB")
    yield Figure("payment: indexes on the disk", indexes / count / KB, "kB")
    for name in sorted(grown, key=lambda name: -sum(grown[name]))[:MOST_TABLES]:
        note = f"of which indexes {grown[name][1] / count / KB:.2f}"
        yield Figure(f"payment: {name}", sum(grown[name]) / count / KB, "kB", note=note)


def _with_children(pid: int) -> list[int]:
    return [pid, *children_of(pid)]


PARTS: dict[str, Part] = {"capacity": capacity}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--payments", type=int, default=10_000, help="that are measured (default 10000)")
    parser.add_argument("--warm-up", type=int, default=1_000, help="payments before that (default 1000)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
