"""Measure bookings and `check_ledger` in this process."""

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from random import Random
from uuid import UUID, uuid4

from django.db import connections
from django.utils import timezone
from psycopg import Connection

from benchmarks.copies import copy_of
from benchmarks.figures import Figure
from benchmarks.pgbench import BOOKING, choosing, pgbench_rate
from ledger.booking.account_ids import account_ids
from ledger.invariants import check
from ledger.models import Entry
from ledger.services import Booking, Kind, book
from payments.invariants.registry import INVARIANTS
from tests.factories import BusinessFactory
from tests.transactions import captured_payment

CONNECTIONS = 8
# An id that starts with a time, like those of the service.
ID = """
    (lpad(to_hex(extract(epoch FROM now())::bigint * 1000 + row_number() OVER ()), 12, '0') || '7000'
        || '8000' || lpad(to_hex(row_number() OVER ()), 12, '0'))::uuid
"""
RRN = "lpad((row_number() OVER ())::text, 12, '0')"  # unlike ids of copied rows, which begin with the year
FILLED = "FROM payments_transaction WHERE reference LIKE 'fill-%'"
# The postings of the copied payments to an account, which continue its chain of hashes.
CHAIN = """
    CREATE FUNCTION pg_temp.chained(account ledger_account) RETURNS SETOF ledger_posting LANGUAGE plpgsql AS $$
    DECLARE
        booked record;
        added ledger_posting;
    BEGIN
        added.account_id := account.id;
        added.sequence := account.sequence;
        added.balance_after := account.balance;
        added.hash := account.hash;
        FOR booked IN SELECT entry.*, payment.amount_captured, payment.fee
            FROM ledger_entry entry JOIN payments_transaction payment ON payment.id = entry.cause
            WHERE entry.business_id = account.business_id AND payment.reference LIKE 'fill-%' ORDER BY entry.id
        LOOP
            added.entry_id := booked.id;
            added.sequence := added.sequence + 1;
            added.amount := CASE account.kind WHEN 'fees' THEN booked.fee WHEN 'pending_settlement'
                THEN booked.amount_captured - booked.fee ELSE -booked.amount_captured END;
            added.balance_after := added.balance_after + added.amount;
            added.previous_hash := added.hash;
            added.hash := sha256(convert_to(
                encode(added.hash, 'hex') || '|' || account.id || '|' || added.sequence || '|' || added.amount || '|'
                || added.balance_after || '|' || booked.kind || '|' || booked.cause || '|'
                || (extract(epoch FROM booked.at) * 1000000)::bigint || '|' || booked.note, 'UTF8'));
            RETURN NEXT added;
        END LOOP;
    END $$
"""
POSTINGS = """
    INSERT INTO ledger_posting (entry_id, account_id, amount, sequence, balance_after, previous_hash, hash)
    SELECT added.entry_id, added.account_id, added.amount, added.sequence, added.balance_after, added.previous_hash,
        added.hash
    FROM ledger_account account, LATERAL pg_temp.chained(account) added
    WHERE account.kind IN ('fees', 'pending_settlement', 'acquirer_receivable') AND account.currency = 'NGN'
    ORDER BY added.entry_id, added.account_id
"""
BALANCES = """
    UPDATE ledger_account account SET sequence = last.sequence, balance = last.balance_after, hash = last.hash
    FROM (SELECT DISTINCT ON (account_id) * FROM ledger_posting ORDER BY account_id, sequence DESC) last
    WHERE last.account_id = account.id
"""


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
    """Create one real payment per business, and copy it with its transitions and ledger entries."""
    now = timezone.now()
    for business in BusinessFactory.create_batch(businesses):
        captured_payment(business=business, now=now)
    with filled_fast(connection):
        connection.execute(
            copy_of(
                connection,
                "payments_transaction",
                f"payments_transaction one, generate_series(1, {transactions // businesses - 1})",
                {
                    "id": ID,
                    "reference": "'fill-' || row_number() OVER ()",
                    "retrieval_reference_number": RRN,
                    "system_trace_audit_number": f"right({RRN}, 6)",
                },
            )
        )
        connection.execute(
            "INSERT INTO payments_transition (transaction_id, attribute, before, after, cause, at) "
            f"SELECT id, 'status', 'pending', 'success', 'rail', finished_at {FILLED}"
        )
        connection.execute(
            "INSERT INTO ledger_entry (kind, cause, business_id, currency, note, is_covered, at) "
            f"SELECT 'card', id, business_id, currency, '', FALSE, finished_at {FILLED} ORDER BY id"
        )
        connection.execute(CHAIN)
        connection.execute(POSTINGS)
        connection.execute(BALANCES)
    connection.execute("VACUUM ANALYZE")
    connection.execute("CHECKPOINT")


@contextmanager
def filled_fast(connection: Connection) -> Iterator[None]:
    """Write without triggers and without waiting for the disk."""
    connection.execute("SET session_replication_role = replica; SET synchronous_commit = off")
    yield
    connection.execute("RESET session_replication_role; RESET synchronous_commit")
