"""Pipelines: several statements in one round trip to PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def pipeline() -> Iterator[None]:
    """Send the statements of this block without waiting for each result. On SQLite, each statement runs at once.

    A statement whose rows are fetched waits for its own result and all earlier ones; so does a COMMIT. The row count of
    a statement is not known in the block. The error of a statement is raised by the next one that waits, or at the end.

    Around a database transaction, the last statement and the COMMIT are one round trip. Otherwise, the statement's locks
    would be held while this thread waits for the interpreter's lock between the two.
    """
    if connection.vendor != "postgresql":
        yield
        return
    connection.ensure_connection()
    with connection.wrap_database_errors, connection.connection.pipeline():
        yield
