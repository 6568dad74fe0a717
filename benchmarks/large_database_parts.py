"""Measure work over many booked payments in this process."""

import argparse
import resource
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from statistics import median
from time import perf_counter
from typing import Any

from django.conf import settings
from django.db import connection
from django.test import Client
from django.utils import timezone

from benchmarks.cpu_time import cpu_seconds
from benchmarks.figures import Figure, seconds_of
from benchmarks.large_ledger import fill
from config.operations.retention import EVERYTHING
from kit.tables import csv_lines
from ledger.invariants import check
from merchants.models import Business
from payments.business_days import business_day
from payments.invariants.registry import INVARIANTS
from payments.models import SettlementBatch, Transaction
from payments.services.settlement import batch_statements, batches
from tests import orders
from tests.clients import Credentials, InProcessClient
from tests.dashboard.people import signed_in
from tests.factories import ApiKeyFactory, MemberFactory

LIMIT = 30.0  # seconds for a statement
WHOLE_TABLES_LIMIT = 900.0  # for one of `check_ledger` that isn't divided
GROWTH = 20  # MB
CALLS = 500
ROUNDS = 5
EXPORTED = 1_000_000  # rows, at most


def large_database(url: str, options: argparse.Namespace) -> Iterator[Figure]:
    """Fill the database, then measure each kind of work."""
    yield Figure("filled", seconds_of(partial(fill, url, options.rows)), "s")
    yield from measure(options.work)


def measure(work: Iterable[str]) -> Iterator[Figure]:
    business = Transaction.objects.get(reference="fill-000000003").business  # the largest
    for name in work:
        yield from WORK[name](business)


@dataclass
class Longest:
    """The time of the longest statement, in seconds."""

    seconds: float = 0

    def __call__(self, execute: Any, *statement: Any) -> Any:
        started = perf_counter()
        try:
            return execute(*statement)
        finally:
            self.seconds = max(self.seconds, perf_counter() - started)


@contextmanager
def longest_statement() -> Iterator[Longest]:
    longest = Longest()
    with connection.execute_wrapper(longest):
        yield longest


def checking(_: Business) -> Iterator[Figure]:
    """Check each rule."""
    seconds: dict[bool, list[float]] = {True: [], False: []}  # by whether the rule is checked in ranges
    longest_of = {True: 0.0, False: 0.0}
    for checked in check_each():
        found, longest = checked
        if not found.holds:
            raise SystemExit(f"{found.invariant.name} is broken: {found.broken[:3]}")
        kind = bool(found.invariant.keys)
        seconds[kind].append(found.milliseconds / 1_000)
        longest_of[kind] = max(longest_of[kind], longest)
        if found.milliseconds > 5_000:
            print(
                f"    {found.milliseconds / 1_000:8.1f} s, longest {longest:.1f} s  {found.invariant.name}",
                flush=True,
            )
    yield Figure("check_ledger", sum(map(sum, seconds.values())), "s")
    for kind, words, limit in ((True, "in ranges", LIMIT), (False, "over whole tables", WHOLE_TABLES_LIMIT)):
        yield Figure(f"  {len(seconds[kind])} rules {words}", sum(seconds[kind]), "s")
        yield Figure(f"  {words}: longest", longest_of[kind], "s", limit)
    yield Figure("  temporary files", temporary_bytes() / 2**30, "GiB")


def check_each() -> Iterator[tuple[Any, float]]:
    """Check the rules; yield each result with the time of its longest statement."""
    with longest_statement() as longest:
        for checked in check(INVARIANTS):
            yield checked, longest.seconds
            longest.seconds = 0


def temporary_bytes() -> int:
    """Return the size of the temporary files that statements have written in this database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT temp_bytes FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def requests(business: Business) -> Iterator[Figure]:
    """Measure requests of the API and pages of the dashboard, in turns."""
    settings.RATE_LIMIT_READS = settings.RATE_LIMIT_WRITES = 1_000_000
    key: Any = ApiKeyFactory(business=business)  # type: ignore[no-untyped-call]
    member: Any = MemberFactory(business=business)  # type: ignore[no-untyped-call]
    api = InProcessClient(Credentials(key.public_id, key.secret))
    browser = signed_in(member.user, client=Client())  # type: ignore[no-untyped-call]
    references = iter(
        list(Transaction.objects.filter(business=business).values_list("reference", flat=True)[: 2 * CALLS])
    )
    calls: dict[str, Callable[[], Any]] = {
        "GET /api/payments": lambda: api.get("/api/payments?limit=20"),
        "GET /api/payments/{reference}": lambda: api.get(f"/api/payments/{next(references)}"),
        "POST /api/payments": lambda: api.post("/api/payments", orders.card_payment()),
        "the dashboard's list of payments": lambda: browser.get("/dashboard/payments/"),
    }
    for _ in range(CALLS // 10):
        calls["POST /api/payments"]()
    taken: dict[str, list[float]] = {name: [] for name in calls}
    cpu: dict[str, list[float]] = {name: [] for name in calls}
    backend = [connection.connection.info.backend_pid]
    for _ in range(ROUNDS):
        for name, call in calls.items():
            before = cpu_seconds(backend)
            for _ in range(CALLS // ROUNDS * 2):
                taken[name].append(seconds_of(partial(succeed, call)) * 1_000)
            cpu[name].append(
                (cpu_seconds(backend)[backend[0]] - before[backend[0]]) * 1_000 / (CALLS // ROUNDS * 2)
            )
    for name in calls:
        yield Figure(f"{name}: p50", median(taken[name]), "ms")
        yield Figure("  CPU of PostgreSQL", median(cpu[name]), "ms")


def succeed(call: Callable[[], Any]) -> None:
    answer = call()
    if answer.status_code not in {200, 201}:
        raise SystemExit(f"Answered with {answer.status_code}.")


def exports(business: Business) -> Iterator[Figure]:
    """Export the payments of the largest business as the dashboard does."""
    member: Any = MemberFactory(business=business)  # type: ignore[no-untyped-call]
    browser = signed_in(member.user, client=Client())  # type: ignore[no-untyped-call]
    answer = browser.get("/dashboard/payments/export.csv")
    lines = (line for piece in answer.streaming_content for line in piece.decode().splitlines())
    yield from read_all("export of payments", lines)


def read_all(name: str, lines: Iterator[str]) -> Iterator[Figure]:
    """Read up to `EXPORTED` lines; yield the time, the longest statement, and how much memory grew after a tenth."""
    with longest_statement() as longest:
        started = perf_counter()
        read = sum(1 for _ in islice(lines, EXPORTED // 10))
        memory = peak_memory()
        read += sum(1 for _ in islice(lines, EXPORTED - EXPORTED // 10))
        seconds = perf_counter() - started
    yield Figure(f"{name}: 100,000 rows, of {read:,}", seconds / read * 100_000, "s")
    yield Figure("  longest", longest.seconds, "s", LIMIT)
    yield Figure("  memory", peak_memory() - memory, "MB", GROWTH)


def peak_memory() -> float:
    """Return the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def settlement(business: Business) -> Iterator[Figure]:
    """Settle the largest day of the largest business, and write its statement."""
    first = Transaction.objects.order_by("id").values_list("created_at", flat=True)[0]
    with longest_statement() as longest:
        started = perf_counter()
        work = batches.due(until=business_day(first), business=business)
        due = perf_counter() - started
        for _ in batches.settle(work, actor="benchmark", now=timezone.now(), business=business):
            pass
        seconds = perf_counter() - started - due
    payments = sum(one.payments for one in work)
    yield Figure("finding what is due", due, "s")
    yield Figure(f"settle: 100,000 payments, of {payments:,}", seconds / payments * 100_000, "s")
    yield Figure("  longest", longest.seconds, "s", LIMIT)
    batch = SettlementBatch.objects.get(business=business)
    yield from read_all("statement as CSV", iter(csv_lines(batch_statements.table(batch))))


def purge(_: Business) -> Iterator[Figure]:
    """Purge everything that is past its retention period."""
    with longest_statement() as longest:
        for kept in EVERYTHING:
            longest.seconds = 0
            started = perf_counter()
            rows = sum(kept.purge(now=timezone.now()))
            if rows or longest.seconds > 1:
                yield Figure(f"purge: {rows:,} {kept.many}", perf_counter() - started, "s")
                yield Figure("  longest", longest.seconds, "s", LIMIT)


WORK: dict[str, Callable[[Business], Iterator[Figure]]] = {
    "check": checking,
    "requests": requests,
    "exports": exports,
    "settlement": settlement,
    "purge": purge,
}
