"""Fill a table by copying a real row, spread over its retention period."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import median

from psycopg import Connection

from benchmarks.copies import copy_of
from benchmarks.figures import Figure, seconds_of

DAYS = 400
# An id that starts with its creation time, like those of the service, and ends with the row's number.
ID_AT = """(lpad(to_hex((extract(epoch FROM {at}) * 1000)::bigint), 12, '0')
            || '70008000' || lpad(to_hex({number}), 12, '0'))::uuid"""
ID = ID_AT.format(at="at", number="n")


def copy_row(connection: Connection, table: str, rows: int, changes: Mapping[str, str]) -> None:
    """Copy the table's first row this many times. `changes` are SQL expressions over the copy's number
    `n` and its time `at`.
    """
    source = (
        f"(SELECT * FROM {table} LIMIT 1) one, generate_series(1, {rows}::bigint) n, "
        f"LATERAL (SELECT now() - interval '{DAYS} days' * (1 - n::float / {rows}) AS at) moment"
    )
    connection.execute(copy_of(connection, table, source, changes))


@contextmanager
def filling(connection: Connection, table: str) -> Iterator[None]:
    """Write without triggers and without waiting for the disk, and rebuild the indexes afterwards."""
    indexes = connection.execute(
        "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s::regclass "
        "AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)",
        [table],
    ).fetchall()
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    connection.execute("SET maintenance_work_mem = '1GB'")
    for setting in ("session_replication_role = replica", "synchronous_commit = off"):
        connection.execute(f"SET {setting}")
    with timed(f"{table} filled"):
        yield
    for setting in ("session_replication_role", "synchronous_commit"):
        connection.execute(f"RESET {setting}")
    with timed(f"{len(indexes)} indexes of {table} built"):
        for _, definition in indexes:
            connection.execute(definition)
    connection.execute(f"VACUUM ANALYZE {table}")


@contextmanager
def timed(what: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    print(f"    {what} in {time.perf_counter() - started:.1f} s", flush=True)


def p50(name: str, work: Callable[[], object], *, times: int = 60) -> Figure:
    """Return the median duration in milliseconds, after a few warm-up runs."""
    for _ in range(5):
        work()
    return Figure(name, median(seconds_of(work) for _ in range(times)) * 1000, "ms")


def sizes(connection: Connection, table: str) -> Iterator[Figure]:
    measured = connection.execute(
        "SELECT pg_table_size(%s::regclass), pg_indexes_size(%s::regclass)", [table, table]
    ).fetchone()
    for what, number in zip(("table", "indexes"), measured or (), strict=True):
        yield Figure(f"{table}: {what}", number / 2**30, "GiB")
