"""Measure large tables, with and without partitions."""

import argparse
from collections.abc import Callable, Iterator
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

from django.http import QueryDict
from django.utils import timezone
from psycopg import Connection

from benchmarks.backlog import delivery_to
from benchmarks.copies import columns_of, copy_of, others_of_a_transaction
from benchmarks.figures import Figure, seconds_of
from benchmarks.many_rows import (
    DAYS,
    ID,
    ID_AT,
    copy_row,
    filling,
    p50,
    sizes,
    timed,
)
from dashboard.payments.payment_list import PaymentFilter
from dashboard.transactions.filters import form_of, sources
from dashboard.ui.pagination import BY_MOMENT, page_of
from dashboard.webhooks.delivery_list import DeliveryFilter
from kit.time_ordered_ids import new_id
from merchants.audit import Actor
from payments.models import Transaction
from tests.factories import BusinessFactory
from tests.transactions import captured_payment
from webhooks import leases, services
from webhooks import purge as forgetting
from webhooks.concurrency import Places
from webhooks.models import Attempt, Delivery

BUSINESSES = 10
AT_ONCE = 100  # attempts that one statement of the service writes
MONTHS = range(-1, 15)  # starting with the month before the oldest row


def retention(url: str, options: argparse.Namespace) -> Iterator[Figure]:
    """Measure the size, speed and purging of each table, then the same with partitions."""
    with Connection.connect(url, autocommit=True) as connection:
        connection.execute("SET maintenance_work_mem = '512MB'")
        connection.execute("SET synchronize_seqscans = off")  # copies keep the order of their originals
        businesses = make_businesses()
        for table in options.tables:
            yield from TABLES[table](connection, businesses, options)


def make_businesses() -> list[Any]:
    businesses = BusinessFactory.create_batch(BUSINESSES)
    for business in businesses:
        services.configure(
            business=business,
            url="http://127.0.0.1:9/hooks",
            subscribed_events=["payment"],
            enabled=True,
            actor=Actor(name="benchmark"),
            now=timezone.now(),
        )
    return businesses


def one_of(businesses: list[Any]) -> str:
    """Return SQL that names the businesses in turn."""
    return f"(ARRAY[{', '.join(repr(str(one.pk)) for one in businesses)}]::uuid[])[1 + n % {len(businesses)}]"


# Attempts ----------------------------------------------------------------------------------------------


def attempts(connection: Connection, businesses: list[Any], options: argparse.Namespace) -> Iterator[Figure]:
    fill_attempts(connection, businesses, options.rows)
    yield from sizes(connection, "webhooks_delivery")
    yield from sizes(connection, "webhooks_attempt")
    yield from delivery_queries(businesses)
    copy_attempts_by_month(connection)
    yield from compare_attempts(connection, options.rounds)
    deleted, now = 0, timezone.now()

    def purge() -> None:
        nonlocal deleted
        deleted = sum(forgetting.purge_attempts(now=now))

    seconds = seconds_of(purge)
    yield Figure("purge: attempts deleted in batches", deleted / seconds, "/s")
    yield Figure("purge: deleted attempts", deleted, "rows")
    yield Figure(
        "VACUUM after the purge", seconds_of(lambda: connection.execute("VACUUM webhooks_attempt")), "s"
    )
    yield from drop_oldest(connection, "attempts_by_month", rate=deleted / seconds)


def fill_attempts(connection: Connection, businesses: list[Any], rows: int) -> None:
    """Insert five attempts for every four deliveries; like after `purge`, only the last 90 days have
    bodies and responses.
    """
    now = timezone.now()
    row = delivery_to(businesses[0], now=now)
    row.state, row.delivered_at, row.attempts_made, row.next_attempt_at = "delivered", now, 1, None
    row.save(force_insert=True)
    Attempt.objects.create(
        delivery=row, number=1, started_at=now, address="203.0.113.9", dns_ms=1.5, connect_ms=11.2,
        tls_ms=24.8, wait_ms=31.4, total_ms=70.1, status=200, excerpt=b'{"received":true,"id":"a1b2c3d4"}' * 2,
    )  # fmt: skip
    kept = "at > now() - interval '90 days'"
    with filling(connection, "webhooks_delivery"):
        copy_row(
            connection,
            "webhooks_delivery",
            rows * 4 // 5,
            {
                "id": ID,
                "subject": ID,
                "business_id": one_of(businesses),
                "body": f"CASE WHEN {kept} THEN one.body ELSE '' END",
                "created_at": "at",
                "delivered_at": "at",
            },
        )
    with filling(connection, "webhooks_attempt"):
        connection.execute(
            copy_of(
                connection,
                "webhooks_attempt",
                "webhooks_delivery delivery, (SELECT * FROM webhooks_attempt LIMIT 1) one, LATERAL "
                "generate_series(1, CASE WHEN get_byte(uuid_send(delivery.id), 15) % 4 = 0 THEN 2 ELSE 1 END) n "
                "WHERE delivery.id <> one.delivery_id",
                {
                    "delivery_id": "delivery.id",
                    "number": "n",
                    "started_at": "delivery.created_at",
                    "excerpt": "CASE WHEN delivery.body = '' THEN '' ELSE one.excerpt END",
                },
                but=frozenset({"id"}),
            )
        )


def delivery_queries(businesses: list[Any]) -> Iterator[Figure]:
    """Measure the dashboard's lists of deliveries and acquiring leases, with many finished deliveries."""

    def page(query: str) -> None:
        form = DeliveryFilter(QueryDict(query), business=businesses[0])
        form.is_valid()
        page_of(form.sources(), QueryDict(query), order=BY_MOMENT)

    yield p50("the dashboard's list of deliveries", lambda: page(""))
    yield p50("the same, of those that are dead", lambda: page("state=dead"))
    now = timezone.now()
    Delivery.objects.bulk_create(
        delivery_to(businesses[number % BUSINESSES], now=now) for number in range(70 * AT_ONCE)
    )

    def acquire() -> None:
        acquired = leases.acquire(
            at=now,
            until=now + timedelta(minutes=9),
            token=uuid4(),
            limit=AT_ONCE,
            usual=Places(*[AT_ONCE] * 3),
        )
        if len(acquired) != AT_ONCE:
            raise SystemExit(f"{len(acquired)} of {AT_ONCE} leases acquired")

    yield p50(f"acquiring {AT_ONCE} leases", acquire)
    Delivery.objects.filter(state="waiting").update(state="skipped")


def copy_attempts_by_month(connection: Connection) -> None:
    connection.execute(
        "CREATE TABLE attempts_by_month (LIKE webhooks_attempt INCLUDING DEFAULTS INCLUDING IDENTITY) "
        "PARTITION BY RANGE (started_at)"
    )
    make_months(connection, "attempts_by_month", bound="{moment}")
    connection.execute("SET synchronous_commit = off")
    with timed("attempts copied into months, and indexed"):
        connection.execute(
            "INSERT INTO attempts_by_month OVERRIDING SYSTEM VALUE SELECT * FROM webhooks_attempt"
        )
        connection.execute("ALTER TABLE attempts_by_month ADD PRIMARY KEY (delivery_id, number, started_at)")
        connection.execute(
            "ALTER TABLE attempts_by_month ADD FOREIGN KEY (delivery_id) REFERENCES webhooks_delivery "
            "DEFERRABLE INITIALLY DEFERRED"
        )
    connection.execute("RESET synchronous_commit")
    connection.execute("VACUUM ANALYZE attempts_by_month")


def compare_attempts(connection: Connection, rounds: int) -> Iterator[Figure]:
    """Measure recording results and looking up the attempts of a delivery, in turns."""
    deliveries = [
        key
        for (key,) in connection.execute(
            "SELECT id FROM webhooks_delivery WHERE body <> '' ORDER BY created_at DESC LIMIT 20000"
        ).fetchall()
    ]
    chosen = Random(1)
    tables = {"webhooks_attempt": "one table", "attempts_by_month": "months"}
    rates: dict[str, list[float]] = {table: [] for table in tables}
    for number in range(rounds):
        for table in tables:
            rates[table].append(insert_rate(connection, table, deliveries, number + 10))
    for table, words in tables.items():
        yield Figure.of_rounds(f"attempts written, {words}", rates[table], "/s")
    one_table, months = rates.values()
    yield Figure.of_ratios("attempts written: months, of one table", months, one_table)
    for table, words in tables.items():

        def look_up(table: str = table) -> None:
            connection.execute(
                f"SELECT * FROM {table} WHERE delivery_id = %s ORDER BY number", [chosen.choice(deliveries)]
            ).fetchall()

        yield p50(f"a delivery's attempts, {words}", look_up, times=300)


def insert_rate(connection: Connection, table: str, deliveries: list[UUID], number: int) -> float:
    """Write attempts like `webhooks.results`: a hundred in a statement, committed."""
    others = columns_of(
        connection, "webhooks_attempt", but=frozenset({"id", "delivery_id", "number", "started_at"})
    )
    connection.execute("DROP TABLE IF EXISTS one")
    connection.execute(
        "CREATE TEMPORARY TABLE one AS SELECT * FROM webhooks_attempt ORDER BY id DESC LIMIT 1"
    )
    statement = (
        f"INSERT INTO {table} (delivery_id, number, started_at, {', '.join(others)}) "
        f"SELECT delivery, %s, now(), {', '.join(f'one.{name}' for name in others)} "
        "FROM one, unnest(%s::uuid[]) delivery"
    )

    def write() -> None:
        for start in range(0, len(deliveries), AT_ONCE):
            connection.execute(statement, [number, deliveries[start : start + AT_ONCE]])

    return len(deliveries) / seconds_of(write)


# Transactions ------------------------------------------------------------------------------------------


def transactions(
    connection: Connection, businesses: list[Any], options: argparse.Namespace
) -> Iterator[Figure]:
    fill_transactions(connection, businesses, options.rows)
    yield from sizes(connection, "payments_transaction")
    yield from transaction_queries(businesses, options.rows)
    name = "an index of all transactions, built"
    build = "CREATE INDEX built ON payments_transaction (business_id, id)"
    yield Figure(name, seconds_of(lambda: connection.execute(build)), "s")
    connection.execute("DROP INDEX built")
    copy_transactions_by_month(connection)
    yield from compare_transactions(connection, businesses, options.rounds)
    yield from drop_oldest(connection, "transactions_by_month")


def fill_transactions(connection: Connection, businesses: list[Any], rows: int) -> None:
    captured_payment(business=businesses[0], now=timezone.now())
    with filling(connection, "payments_transaction"):
        copy_row(
            connection,
            "payments_transaction",
            rows,
            {
                "id": ID,
                "reference": "'order-' || n",
                "business_id": one_of(businesses),
                "finished_at": "at",
                "settle_status": "'released'",
            },
        )


def transaction_queries(businesses: list[Any], rows: int) -> Iterator[Figure]:
    """Measure the dashboard's list and search, and the API's lookup."""
    chosen = Random(1)

    def page(query: str) -> None:
        form = form_of(PaymentFilter, QueryDict(query), business=businesses[0])
        page_of(sources(form, business=businesses[0]), QueryDict(query))

    def look_up() -> None:
        number = chosen.randrange(1, rows)
        Transaction.objects.get(business=businesses[number % BUSINESSES], reference=f"order-{number}")

    yield p50("the dashboard's list of payments", lambda: page(""))
    yield p50("the same, of those that failed", lambda: page("status=failed"))
    yield p50("its search for a reference", lambda: page("q=order-1000"))
    yield p50("a transaction by its reference", look_up, times=300)


def copy_transactions_by_month(connection: Connection) -> None:
    """Partition by ranges of ids, with all indexes except the unique one, and with references in a
    separate table.
    """
    connection.execute(
        "CREATE TABLE transactions_by_month (LIKE payments_transaction INCLUDING DEFAULTS INCLUDING CONSTRAINTS) "
        "PARTITION BY RANGE (id)"
    )
    make_months(connection, "transactions_by_month", bound=ID_AT.format(at="{moment}", number="0"))
    indexes = connection.execute(
        "SELECT pg_get_indexdef(indexrelid) FROM pg_index "
        "WHERE indrelid = 'payments_transaction'::regclass AND NOT indisunique"
    ).fetchall()
    connection.execute("SET synchronous_commit = off")
    with timed("transactions copied into months, and indexed"):
        connection.execute("INSERT INTO transactions_by_month SELECT * FROM payments_transaction")
        connection.execute("ALTER TABLE transactions_by_month ADD PRIMARY KEY (id)")
        for number, (definition,) in enumerate(indexes):
            name = definition.split()[2]
            moved = definition.replace(f"INDEX {name} ", f"INDEX of_months_{number} ", 1)
            connection.execute(moved.replace("public.payments_transaction", "transactions_by_month"))
        connection.execute(
            "CREATE TABLE transaction_references AS SELECT business_id, reference, id FROM payments_transaction"
        )
        connection.execute("ALTER TABLE transaction_references ADD PRIMARY KEY (business_id, reference)")
    connection.execute("RESET synchronous_commit")
    connection.execute("VACUUM ANALYZE transactions_by_month")
    connection.execute("VACUUM ANALYZE transaction_references")


def compare_transactions(connection: Connection, businesses: list[Any], rounds: int) -> Iterator[Figure]:
    """Measure creating a transaction and showing a page of the newest, in turns."""
    others = others_of_a_transaction(connection)
    connection.execute("DROP TABLE IF EXISTS one")
    connection.execute(
        "CREATE TEMPORARY TABLE one AS SELECT * FROM payments_transaction ORDER BY id DESC LIMIT 1"
    )
    insert = f"INSERT INTO {{table}} (id, reference, {others}) SELECT %(id)s::text::uuid, %(id)s::text, {others} FROM one"
    refer = "INSERT INTO transaction_references SELECT business_id, %(id)s::text, %(id)s::text::uuid FROM one"
    ways = {
        "one table": insert.format(table="payments_transaction"),
        "months": f"WITH referred AS ({refer}) {insert.format(table='transactions_by_month')}",
    }
    rates: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, statement in ways.items():
            rates[way].append(commit_rate(connection, statement))
    for way, taken in rates.items():
        yield Figure.of_rounds(f"transactions written, {way}", taken, "/s")
    one_table, months = rates.values()
    yield Figure.of_ratios("transactions written: months, of one table", months, one_table)
    for way, table in zip(ways, ("payments_transaction", "transactions_by_month"), strict=True):

        def page(table: str = table) -> None:
            newest = f"SELECT * FROM {table} WHERE business_id = %s ORDER BY id DESC LIMIT 26"
            connection.execute(newest, [businesses[0].pk]).fetchall()

        yield p50(f"a page of the newest, {way}", page)


def commit_rate(connection: Connection, statement: str, *, rows: int = 1_000) -> float:
    def write() -> None:
        for _ in range(rows):
            connection.execute(statement, {"id": str(new_id(timezone.now()))})

    return rows / seconds_of(write)


# Months ------------------------------------------------------------------------------------------------


def make_months(connection: Connection, table: str, *, bound: str) -> None:
    """Create a partition for each month; `bound` is SQL that converts its start to the key's type."""
    first = f"date_trunc('month', now() - interval '{DAYS} days')"
    for month in MONTHS:
        moments = [f"({first} + interval '{month + more} months')" for more in (0, 1)]
        bounds = ", ".join(bound.format(moment=moment) for moment in moments)
        low, high = connection.execute(f"SELECT {bounds}").fetchone() or ("", "")
        name = f"{table}_{month + 1:02}"
        connection.execute(
            f"CREATE TABLE {name} PARTITION OF {table} FOR VALUES FROM ('{low}') TO ('{high}')"
        )


def drop_oldest(connection: Connection, table: str, *, rate: float | None = None) -> Iterator[Figure]:
    """Drop the first complete month, and estimate how long deleting its rows would take."""
    name = f"{table}_02"
    (rows,) = connection.execute(f"SELECT count(*) FROM {name}").fetchone() or (0,)
    yield Figure(f"{table}: rows of a month", rows, "rows")
    yield Figure(
        "dropping that partition", seconds_of(lambda: connection.execute(f"DROP TABLE {name}")) * 1000, "ms"
    )
    if rate:
        yield Figure("deleting its rows in batches, at the rate above", rows / rate, "s")


TABLES: dict[str, Callable[..., Iterator[Figure]]] = {"attempts": attempts, "transactions": transactions}
