"""Measure the searches of the dashboard and the administration in this process."""

import argparse
import random
from collections.abc import Iterator
from functools import partial
from typing import Any

from django.test import Client
from psycopg import Connection

from benchmarks.figures import Figure, percentile, seconds_of
from benchmarks.many_rows import ID, copy_row, filling, sizes, timed
from dashboard.search import indexer
from tests import orders
from tests.clients import Credentials, InProcessClient
from tests.dashboard.people import signed_in
from tests.factories import ApiKeyFactory, MemberFactory, UserFactory

LIMIT = 150  # ms
TERMS = "dashboard_searchterm"
FIRST_NAME = "CASE WHEN n % 20 = 0 THEN 'chinedu' ELSE 'name' || n % 5000 END"
CHANGES = {
    "id": ID,
    "reference": "'ORD-' || n",
    "amount": "CASE WHEN n % 10 = 0 THEN 250000 ELSE 10000 + n END",
    "amount_captured": "0",
    "status": "'failed'",
    "customer_name": f"({FIRST_NAME}) || ' family' || n % 90000",
    "customer_email": "'payer' || n % 3000000 || '@example.com'",
    "system_trace_audit_number": "lpad((n % 1000000)::text, 6, '0')",
    "retrieval_reference_number": "'632811' || lpad((n % 1000000)::text, 6, '0')",
    "authorization_code": "upper(lpad(to_hex(n % 16777216), 6, '0'))",
    "card_last4": "lpad((n % 10000)::text, 4, '0')",
    "created_at": "at",
    "finished_at": "at",
}
# As `dashboard.search.terms` writes them.
TERMS_OF_A_PAYMENT = """
    ('r' || lower(reference)), ('n' || split_part(customer_name, ' ', 1)), ('n' || split_part(customer_name, ' ', 2)),
    ('w' || customer_name), ('e' || customer_email), ('c' || card_last4), ('c' || lower(authorization_code)),
    ('t' || reverse(retrieval_reference_number)), ('a' || currency || amount), ('m' || substr(md5(reference), 1, 16))
"""


def search(url: str, options: argparse.Namespace) -> Iterator[Figure]:
    key: Any = ApiKeyFactory()  # type: ignore[no-untyped-call]
    member: Any = MemberFactory(business=key.business)  # type: ignore[no-untyped-call]
    InProcessClient(Credentials(key.public_id, key.secret)).post("/api/payments", orders.card_payment())
    browser = signed_in(member.user, client=Client())  # type: ignore[no-untyped-call]
    with Connection.connect(url, autocommit=True) as connection:
        fill(connection, options.rows)
        yield from sizes(connection, TERMS)
    yield from times_of(browser, "/dashboard/search/", options)
    staff = signed_in(UserFactory(is_staff=True, is_superuser=True), client=Client())  # type: ignore[no-untyped-call]
    yield from times_of(staff, "/admin/search/", options)
    yield Figure("indexer: rows a second", indexing(20_000), "rows")


def times_of(browser: Client, page: str, options: argparse.Namespace) -> Iterator[Figure]:
    """Yield the percentiles of each search on a page."""
    found = {name: [] for name in texts(0, options.rows)}  # type: dict[str, list[float]]
    chosen = random.Random(0)
    read(browser, page, "warm up")
    for _ in range(options.turns):
        for name, text in texts(chosen.randrange(1, options.rows), options.rows).items():
            found[name].append(seconds_of(partial(read, browser, page, text)) * 1000)
    for name, times in found.items():
        yield Figure(f"{page}: {name}, p50", percentile(times, 0.5), "ms")
        yield Figure(f"{page}: {name}, p95", percentile(times, 0.95), "ms", LIMIT)


def fill(connection: Connection, rows: int) -> None:
    with filling(connection, "payments_transaction"):
        copy_row(connection, "payments_transaction", rows, CHANGES)
    key = connection.execute(
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'p'",
        [TERMS],
    ).fetchone()
    name, definition = key or ("", "")
    connection.execute(f"ALTER TABLE {TERMS} DROP CONSTRAINT {name}")
    connection.execute("SET synchronous_commit = off")
    connection.execute("SET maintenance_work_mem = '1GB'")
    with timed(f"{TERMS} filled"):
        connection.execute(
            f"INSERT INTO {TERMS} (business_id, kind, term, object_id) "
            f"SELECT business_id, 1, convert_to(term, 'UTF8'), id FROM payments_transaction, "
            f"LATERAL (VALUES {TERMS_OF_A_PAYMENT}) terms (term) WHERE reference LIKE 'ORD-%'"
        )
    with timed(f"key of {TERMS} built"):
        connection.execute(f"ALTER TABLE {TERMS} ADD CONSTRAINT {name} {definition}")
    connection.execute(f"VACUUM ANALYZE {TERMS}")


def texts(n: int, rows: int) -> dict[str, str]:
    """Return the searches by name, for a chosen payment."""
    return {
        "a first name of a payment in twenty": "chinedu",
        "the beginning of that name": "chin",
        "a letter": "n",
        "a rare name": f"family{n % 90000}",
        "a whole name": f"name{n % 5000} family{n % 90000}",
        "a reference": f"ord-{n}",
        "the beginning of all references": "ord-",
        "the beginning of an email address": f"payer{n % 3000000}",
        "an amount of a payment in ten": "NGN 2,500.00",
        "a rare amount": f"{(10000 + n) / 100:.2f}",
        "the last four": f"{n % 10000:04}",
        "a STAN": f"{n % 1000000:06}",
        "an RRN": f"632811{n % 1000000:06}",
        "nothing": f"zzz{rows}",
    }


def read(browser: Client, page: str, text: str) -> None:
    answer = browser.get(page, {"q": text})
    if answer.status_code != 200:
        raise SystemExit(f"{text} was answered with {answer.status_code}.")


def indexing(rows: int) -> float:
    """Return how many rows a second are indexed again."""
    done = 0

    def index() -> None:
        nonlocal done
        for read_rows in indexer.rebuild():
            done += read_rows
            if done >= rows:
                return

    seconds = seconds_of(index)
    return done / seconds
