"""What only PostgreSQL has: views of its own state, and settings of its planner."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction


def is_used_by(schema_editor: Any) -> bool:
    """Return whether a migration changes a database of PostgreSQL."""
    return bool(schema_editor.connection.vendor == "postgresql")


def rows(statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return the rows of a statement about PostgreSQL's own state. SQLite has no such state, so there are none.

    A statement such as SET changes that state, and has none.
    """
    if connection.vendor != "postgresql":
        return []
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall()) if cursor.description else []


@contextmanager
def planning(**settings: str) -> Iterator[None]:
    """Run queries in a transaction with other settings of the planner, whose names and values are our own.

    SQLite has none of them, and a transaction there would wait for the one writer.
    """
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic(), connection.cursor() as cursor:
        if settings:
            cursor.execute("; ".join(f"SET LOCAL {name} = '{value}'" for name, value in settings.items()))
        yield
