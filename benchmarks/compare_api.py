"""Speed and cost of a card payment and of its lookup, in two releases."""

import argparse
import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import psycopg

from benchmarks.api import signed
from benchmarks.comparisons import Comparison, in_turns
from benchmarks.copies import fill_transactions
from benchmarks.cpu_time import used_between
from benchmarks.load import drive
from benchmarks.releases import Release
from tests import orders
from tests.clients import Credentials

KINDS = ("POST card payment", "GET lookup")
WARM_UP = 400  # requests of each kind, for caches and prepared statements of every thread


@dataclass(frozen=True)
class Round:
    """A round of requests of one kind to one release. Times are milliseconds, CPU is per request."""

    rate: float
    p50: float
    p99: float
    web_cpu: float
    database_cpu: float


@dataclass
class Caller:
    """A merchant of one release, and the payments that it has made there."""

    release: Release
    merchant: Credentials
    references: list[str] = field(default_factory=list)

    def measure(self, kind: str, count: int) -> Round:
        requests = self._payments(count) if kind == KINDS[0] else self._lookups(count)
        web, database = self.release.cpu_of_web(), self.release.cpu_of_database()
        measured = drive(self.release.port, requests)
        web_seconds = used_between(web, self.release.cpu_of_web())
        database_seconds = used_between(database, self.release.cpu_of_database())
        unexpected = {status for status in measured.statuses if status >= 300}
        if unexpected:
            raise SystemExit(f"{self.release.name} answered a {kind} with {unexpected}.")
        return Round(
            rate=measured.rate,
            p50=measured.percentile(0.5),
            p99=measured.percentile(0.99),
            web_cpu=web_seconds / count * 1000,
            database_cpu=database_seconds / count * 1000,
        )

    def _payments(self, count: int) -> list[bytes]:
        asked = []
        for _ in range(count):
            order = orders.card_payment()
            self.references.append(order["reference"])
            asked.append(signed(self.merchant, "POST", "/api/payments", json.dumps(order).encode()))
        return asked

    def _lookups(self, count: int) -> list[bytes]:
        chosen = [secrets.choice(self.references) for _ in range(count)]
        return [signed(self.merchant, "GET", f"/api/payments/{reference}") for reference in chosen]

    def analyze(self) -> None:
        """Collect statistics, as autovacuum does, which may be off on this server.

        Without them, PostgreSQL may find a payment by an index of the business alone, and read all of its payments.
        """
        with psycopg.connect(self.release.database_url, autocommit=True) as connection:
            connection.execute("ANALYZE")

    def fill(self, rows: int) -> None:
        with psycopg.connect(self.release.database_url, autocommit=True) as connection:
            fill_transactions(connection, rows)


def api(base: Release, new: Release, options: argparse.Namespace) -> Iterator[Comparison]:
    """Compare both kinds of requests with as many rows as there are, then with each number of `options.rows`."""
    callers = [Caller(release, release.create_business("Ada Books")) for release in (base, new)]
    for caller in callers:
        for kind in KINDS:
            caller.measure(kind, WARM_UP)
        caller.analyze()
    for rows in options.rows or [0]:
        for caller in callers if rows else ():
            caller.fill(rows)
        for kind in KINDS:
            name = f"{kind}, {rows:,} rows" if rows else kind
            yield from comparisons(name, *_rounds(callers, kind, options))


def _rounds(
    callers: Sequence[Caller], kind: str, options: argparse.Namespace
) -> tuple[list[Round], list[Round]]:
    return in_turns(callers, lambda caller: caller.measure(kind, options.requests), rounds=options.rounds)


def comparisons(kind: str, base: Sequence[Round], new: Sequence[Round]) -> Iterator[Comparison]:
    """Return the figures of one kind of requests."""

    def compared(what: str, unit: str, attribute: str) -> Comparison:
        return Comparison.of(f"{kind}: {what}", unit, base, new, attribute)

    yield compared("requests", "/s", "rate")
    yield compared("p50", "ms", "p50")
    yield compared("p99", "ms", "p99")
    tails = ([one.p99 / one.p50 for one in rounds] for rounds in (base, new))
    yield Comparison(f"{kind}: p99, of the p50", "times", *tails)
    yield compared("CPU of the service per request", "ms", "web_cpu")
    yield compared("CPU of PostgreSQL per request", "ms", "database_cpu")
