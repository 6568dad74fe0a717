"""Fill tables by copying rows written by the service."""

import time
from collections.abc import Mapping

from psycopg import Connection


def columns_of(connection: Connection, table: str, *, but: frozenset[str] = frozenset()) -> list[str]:
    """Return the names of a table's columns, in their order."""
    found = connection.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_name = %s ORDER BY ordinal_position",
        [table],
    )
    return [name for (name,) in found.fetchall() if name not in but]


def others_of_a_transaction(connection: Connection) -> str:
    """Return the columns that a copy of a transaction shares with the original, as SQL."""
    return ", ".join(columns_of(connection, "payments_transaction", but=frozenset({"id", "reference"})))


def fill_transactions(connection: Connection, rows: int) -> None:
    """Fill the table of transactions to this many rows by copying one of them."""
    (present,) = connection.execute("SELECT count(*) FROM payments_transaction").fetchone() or (0,)
    others = others_of_a_transaction(connection)
    started = time.monotonic()
    connection.execute(
        f"INSERT INTO payments_transaction (id, reference, {others}) "
        f"SELECT gen_random_uuid(), 'fill-' || gen_random_uuid(), {others} FROM "
        "(SELECT * FROM payments_transaction LIMIT 1) one, generate_series(1, %s)",
        [max(rows - present, 0)],
    )
    connection.execute("ANALYZE")
    connection.execute("CHECKPOINT")
    print(f"  filled to {max(rows, present):,} rows in {time.monotonic() - started:.0f} s", flush=True)


def copy_of(
    connection: Connection,
    table: str,
    source: str,
    changes: Mapping[str, str],
    *,
    but: frozenset[str] = frozenset(),
) -> str:
    """Return the statement that copies the row `one` of a source, for each of the source's rows, with changes in SQL."""
    columns = columns_of(connection, table, but=but)
    values = ", ".join(changes.get(name, f"one.{name}") for name in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM {source}"
