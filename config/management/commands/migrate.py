"""Django's migrate, for a database that others work on: it waits for locks briefly, gives way, and tries again."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import errors

# Behind a migration that waits for a table, everybody waits who wants it. Shorter than the second after which
# PostgreSQL looks for deadlocks: the migration is who gives way.
LOCK_TIMEOUT = "500ms"
TRIES = 60
PAUSE = 1.0  # seconds


class Command(migrate.Command):
    help = (
        f"{migrate.Command.help} Beside a running service it waits {LOCK_TIMEOUT} for a lock, and tries again"
        f" {TRIES} times. Example: manage.py migrate --no-input"
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate. Whatever is applied is written down, so that each try goes on where the last one ended."""
        connection = connections[options["database"]]
        for one in range(1, TRIES + 1):
            try:
                with _polite(connection):
                    super().handle(*args, **options)
            except OperationalError as problem:
                if not isinstance(problem.__cause__, errors.LockNotAvailable) or one == TRIES:
                    raise
                self.stderr.write(f"Somebody holds a lock that is needed; try {one + 1} of {TRIES} follows.")
                time.sleep(PAUSE)
            else:
                return


@contextmanager
def _polite(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Wait for locks briefly, and let a statement take its time: an index of a large table needs it."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
        cursor.execute("SET statement_timeout = 0")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
            cursor.execute("RESET statement_timeout")
