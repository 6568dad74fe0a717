"""Measure bookings and `check_ledger` in this process."""

import argparse
import time
from collections.abc import Iterator
from functools import partial
from itertools import islice
from multiprocessing import get_context
from random import Random
from uuid import UUID, uuid4

from django.db import connections
from django.utils import timezone
from psycopg import Connection

from benchmarks.copies import copy_of
from benchmarks.figures import Figure
from benchmarks.pgbench import BOOKING, choosing, pgbench_rate
from ledger.account_ids import account_ids
from ledger.invariants import check
from ledger.models import Entry
from ledger.posting import STATEMENT
from ledger.services import Booking, Kind, book
from payments.invariants.registry import INVARIANTS
from payments.models import Transaction
from payments.services import ledger_entries
from tests.factories import BusinessFactory
from tests.transactions import captured_payment

CONNECTIONS = 8
RRN = "lpad((row_number() OVER ())::text, 12, '0')"  # unlike ids of copied rows, which begin with the year


def ledger(url: str, options: argparse.Namespace) -> Iterator[Figure]:
    """Check a year of card payments, then measure bookings in addition to them."""
    with Connection.connect(url, autocommit=True) as connection:
        yield from checking(connection, options)
        yield from bookings(connection, url, options)


def checking(connection: Connection, options: argparse.Namespace) -> Iterator[Figure]:
    """Insert booked card payments, and check the ledger."""
    fill(connection, options.transactions)
    taken = []
    for _ in range(options.rounds):
        checked = list(check(INVARIANTS))
        broken = {one.invariant.name: one.broken[:3] for one in checked if not one.holds}
        if broken:
            raise SystemExit(f"The ledger is wrong: {broken}")
        taken.append(sum(one.milliseconds for one in checked))
    for one in sorted(checked, key=lambda one: -one.milliseconds)[:5]:
        print(f"    {one.milliseconds:8.1f} ms  {one.invariant.name}")
    name = f"check_ledger, {len(checked)} invariants, {options.transactions:,} transactions"
    yield Figure.of_rounds(name, taken, "ms", 2_000)


def bookings(connection: Connection, url: str, options: argparse.Namespace) -> Iterator[Figure]:
    """Measure ours and pgbench in turns, on one contended wallet and on many."""
    businesses = open_businesses(options.wallets)
    for count, name, target in (
        (1, "one hot wallet", None),
        (options.wallets, f"{options.wallets:,} wallets", 0.5),
    ):
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(book_for(options.seconds, businesses[:count]))
            commands = script(connection, businesses[:count])
            theirs.append(pgbench_rate(url, commands, clients=CONNECTIONS, seconds=options.seconds))
            connection.execute("CHECKPOINT")
        yield Figure.of_rounds(f"bookings on {name}", ours, "/s")
        yield Figure.of_rounds("the same rows by pgbench", theirs, "/s")
        yield Figure.of_ratios("bookings, of pgbench", ours, theirs, target)


def open_businesses(count: int) -> list[UUID]:
    """Create businesses with their accounts, in order."""
    businesses = [business.pk for business in BusinessFactory.create_batch(count)]
    for business in businesses:
        account_ids(business, "NGN")
    return businesses


def book_for(seconds: int, businesses: list[UUID]) -> float:
    """Book from several processes at once; return the entries per second."""
    connections.close_all()  # a forked connection would be shared
    with get_context("fork").Pool(CONNECTIONS) as pool:
        made = pool.map(partial(book_until, time.monotonic() + seconds, businesses), range(CONNECTIONS))
    return sum(made) / seconds


def book_until(deadline: float, businesses: list[UUID], seed: int) -> int:
    at_random, made = Random(seed), 0
    while time.monotonic() < deadline:
        book(
            Booking(
                kind=Entry.Kind.CARD,
                cause=uuid4(),
                business_id=at_random.choice(businesses),
                currency="NGN",
                legs={Kind.ACQUIRER_RECEIVABLE: -1_000, Kind.PENDING_SETTLEMENT: 985, Kind.FEES: 15},
                at=timezone.now(),
            )
        )
        made += 1
    return made


def script(connection: Connection, businesses: list[UUID]) -> str:
    """Return the statements of one booking, in one commit."""
    return f"{choosing(connection, businesses)}BEGIN;{BOOKING}COMMIT;\n"


def fill(connection: Connection, transactions: int, *, businesses: int = 100) -> None:
    now = timezone.now()
    for business in BusinessFactory.create_batch(businesses):
        captured_payment(business=business, now=now)
    connection.execute(
        copy_of(
            connection,
            "payments_transaction",
            f"payments_transaction one, generate_series(1, {transactions // businesses - 1})",
            {
                "id": "gen_random_uuid()",
                "reference": "'fill-' || gen_random_uuid()",
                "retrieval_reference_number": RRN,
                "system_trace_audit_number": f"right({RRN}, 6)",
            },
        )
    )
    connection.execute(
        "INSERT INTO payments_transition (transaction_id, attribute, before, after, cause, at) "
        "SELECT id, 'status', 'pending', 'success', 'rail', finished_at FROM payments_transaction "
        "WHERE reference LIKE 'fill-%'"
    )
    filled = Transaction.objects.filter(reference__startswith="fill-")
    waiting = filled.iterator(chunk_size=1_000)
    while some := list(islice(waiting, 200)):  # a transaction of many leaves many dead rows of each account
        with connection.transaction(), connection.cursor() as cursor:
            cursor.executemany(
                STATEMENT, [ledger_entries.card_captured(one, now=now).parameters for one in some]
            )
    connection.execute("ANALYZE")
    connection.execute("CHECKPOINT")
