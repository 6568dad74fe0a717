"""Fill a database with many booked card payments, whose ledger is right."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from multiprocessing import get_context
from typing import Any
from uuid import UUID

from django.db import connections
from django.utils import timezone
from psycopg import Connection

from benchmarks.copies import copy_of
from benchmarks.ledger_parts import filled_fast
from benchmarks.many_rows import ID, filling
from merchants.models import Business
from payments import business_days
from tests.factories import BusinessFactory
from tests.transactions import captured_payment

BUSINESSES = 30
DAYS = 100
FIRST_DAY = 0.18  # share of the payments on the first day; the others are spread over all days that follow
PROCESSES = 2
WITH_HASH = 0.03  # share of the oldest payments whose card number hash is still there, for `purge`
COPIED = "FROM payments_transaction WHERE reference LIKE 'fill-%'"


def fill(url: str, rows: int) -> list[Business]:
    """Fill an empty database with this many payments; return the businesses, beginning with the largest."""
    first_day = timezone.localdate() - timedelta(days=DAYS + 1)
    start = business_days.begins_at(first_day)
    businesses: list[Business] = BusinessFactory.create_batch(BUSINESSES)
    for business in businesses:
        captured_payment(business=business, now=start)
    connections.close_all()  # a forked connection would be shared
    with Connection.connect(url, autocommit=True) as connection:
        with filling(connection, "payments_transaction"):
            in_processes(partial(_copy_payments, url, [one.pk for one in businesses], start, rows))
        with filling(connection, "payments_transition"), filling(connection, "ledger_entry"):
            in_processes(partial(_copy_transitions_or_entries, url))
        with filling(connection, "ledger_posting"):
            in_processes(partial(_chain_postings, url, [one.pk for one in businesses]))
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
    return businesses


def in_processes(work: "partial[None]") -> None:
    """Call `work` with 0, 1 … in processes of their own."""
    with get_context("fork").Pool(PROCESSES) as pool:
        pool.map(work, range(PROCESSES))


def _copy_payments(url: str, businesses: list[UUID], start: datetime, rows: int, part: int) -> None:
    """Copy the first payment. Its copies are numbered by `n` and have the time `at`."""
    crowded = int(rows * FIRST_DAY)
    ids = ", ".join(f"'{one}'" for one in businesses)
    business = (
        f"(ARRAY[{ids}]::uuid[])[CASE WHEN n % 3 = 0 THEN 1 ELSE 2 + n / 3 % {len(businesses) - 1} END]"
    )
    first = f"n::float / {crowded}"
    later = f"1 + {DAYS - 1} * (n - {crowded})::float / {rows - crowded}"
    has_hash = f"n < {int(rows * WITH_HASH)}"
    source = (
        f"(SELECT * FROM payments_transaction ORDER BY id LIMIT 1) one, "
        f"generate_series({rows * part // PROCESSES + 1}::bigint, {rows * (part + 1) // PROCESSES}) n, LATERAL (SELECT "
        f"'{start.isoformat()}'::timestamptz + interval '1 day' * CASE WHEN n < {crowded} THEN {first} "
        f"ELSE {later} END AS at) moment"
    )
    changes = {
        "id": ID,
        "reference": "'fill-' || lpad(n::text, 9, '0')",
        "business_id": business,
        "retrieval_reference_number": "lpad(n::text, 12, '0')",
        "system_trace_audit_number": "right(lpad(n::text, 12, '0'), 6)",
        "card_number_hash": f"CASE WHEN {has_hash} THEN one.card_number_hash ELSE '' END",
        "fingerprint": f"CASE WHEN {has_hash} THEN one.fingerprint ELSE '' END",
        "created_at": "at",
        "finished_at": "at + interval '1 second'",
    }
    with Connection.connect(url, autocommit=True) as connection, filled_fast(connection):
        connection.execute(copy_of(connection, "payments_transaction", source, changes))


def _copy_transitions_or_entries(url: str, part: int) -> None:
    transitions = (
        "INSERT INTO payments_transition (transaction_id, attribute, before, after, cause, at) "
        f"SELECT id, 'status', 'pending', 'success', 'rail', finished_at {COPIED} ORDER BY id"
    )
    entries = (
        "INSERT INTO ledger_entry (kind, cause, business_id, currency, note, is_covered, at) "
        f"SELECT 'card', id, business_id, currency, '', FALSE, finished_at {COPIED} ORDER BY id"
    )
    with Connection.connect(url, autocommit=True) as connection, filled_fast(connection):
        connection.execute("SET enable_sort = off")
        connection.execute((transitions, entries)[part])


def _chain_postings(url: str, businesses: list[UUID], part: int) -> None:
    """Write the postings of some businesses' entries, in their order, and their accounts."""
    # Each process has about half of the rows: the first business has a third of them.
    ours = businesses[:8] if part == 0 else businesses[8:]
    with Connection.connect(url, autocommit=True) as reading, Connection.connect(url) as writing:
        writing.execute("SET session_replication_role = replica; SET synchronous_commit = off")
        chains = {
            str(business): [list(row) for row in rows]
            for business in ours
            if (rows := writing.execute(
                "SELECT CASE kind WHEN 'pending_settlement' THEN 49250 WHEN 'fees' THEN 750 ELSE -50000 END, "
                "id, sequence, balance, hash FROM ledger_account WHERE business_id = %s AND sequence > 0 ORDER BY id",
                [business],
            ).fetchall())
        }  # fmt: skip
        with writing.cursor() as cursor:
            with cursor.copy(
                "COPY ledger_posting (entry_id, account_id, amount, sequence, balance_after, previous_hash, hash) FROM STDIN"
            ) as copy:
                for line in _postings(reading, ours, chains):
                    copy.write(line)
            for chain in chains.values():
                for _, account, sequence, balance, last in chain:
                    cursor.execute(
                        "UPDATE ledger_account SET sequence = %s, balance = %s, hash = %s WHERE id = %s",
                        [sequence, balance, last, account],
                    )
        writing.commit()


def _postings(
    reading: Connection, businesses: list[UUID], chains: dict[str, list[list[Any]]]
) -> Iterator[str]:
    """Yield the lines of the postings. A chain has an account's amount, id, sequence, balance and last hash."""
    ids = ", ".join(f"'{one}'" for one in businesses)
    reading.execute("SET enable_sort = off; SET enable_seqscan = off")
    with reading.cursor() as cursor, cursor.copy(
        "COPY (SELECT id, business_id, 'card|' || cause || '|' || (extract(epoch FROM at) * 1000000)::bigint || '|' || note "
        f"FROM ledger_entry WHERE business_id IN ({ids}) AND id > {BUSINESSES} ORDER BY id) TO STDOUT"
    ) as entries:  # fmt: skip
        rest = b""
        for block in entries:
            *lines, rest = (rest + bytes(block)).split(b"\n")
            written = []
            for entry_id, business, text in (line.decode().split("\t") for line in lines):
                for chain in chains[business]:
                    amount, account, sequence, balance, previous = chain
                    chain[2], chain[3] = sequence, balance = sequence + 1, balance + amount
                    before = previous.hex()
                    chain[4] = this = sha256(
                        f"{before}|{account}|{sequence}|{amount}|{balance}|{text}".encode()
                    ).digest()
                    written.append(
                        f"{entry_id}\t{account}\t{amount}\t{sequence}\t{balance}\t\\\\x{before}\t\\\\x{this.hex()}\n"
                    )
            yield "".join(written)
