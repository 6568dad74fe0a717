"""Django's migrate, for a database in use.

It waits for locks briefly and retries. It refuses a database that is behind the last migration before the squash.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import errors

from config.operations.migration_state import partial_squashes

# While a migration waits for a table lock, all other queries of the table wait behind it. This is shorter than
# deadlock_timeout (one second), so that in a deadlock the migration gives up.
LOCK_TIMEOUT = "500ms"
TRIES = 60
PAUSE = 1.0  # seconds

SHARED_SESSION = (
    "A migration needs a session of its own, and DATABASE_POOLING=transaction says that sessions are shared. Nothing was"
    " changed. Run it with DATABASE_POOLING=session and the DATABASE_URL of PostgreSQL itself."
)


class Command(migrate.Command):
    help = (
        f"{migrate.Command.help} It waits up to {LOCK_TIMEOUT} for a lock and retries"
        f" up to {TRIES} times. Example: manage.py migrate --no-input"
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate. Applied migrations are recorded, so each try continues where the last one ended.

        Raises:
            CommandError: The connection is to PgBouncer in transaction mode. Or the database has some, but not all, of
                the migrations that an `0001_initial` replaces.

        """
        if settings.DATABASE_POOLING == "transaction":
            raise CommandError(SHARED_SESSION)
        connection = connections[options["database"]]
        _refuse_partial_squash(connection)
        for one in range(1, TRIES + 1):
            try:
                with _polite(connection):
                    super().handle(*args, **options)
            except OperationalError as problem:
                if not isinstance(problem.__cause__, errors.LockNotAvailable) or one == TRIES:
                    raise
                self.stderr.write(f"Another transaction holds a lock; starting try {one + 1} of {TRIES}.")
                time.sleep(PAUSE)
            else:
                return


def _refuse_partial_squash(connection: BaseDatabaseWrapper) -> None:
    if not (partial := partial_squashes(connection)):
        return
    last_applied = ", ".join(f"{squash.app}.{squash.last_applied}" for squash in partial)
    file = partial[0].last_file
    raise CommandError(
        f"This database stands at {last_applied}. This release replaces the migrations up to {file} and cannot start"
        " from the middle of them. Nothing was changed. Back up, upgrade to the last commit before they were replaced:\n"
        f'  git switch --detach "$(git log -1 --format=%h --diff-filter=D -- {file})^"\n'
        "and run its `manage.py migrate`. Then return to this release and run `manage.py migrate` again. If you don't"
        " need the data, use an empty database instead."
    )


@contextmanager
def _polite(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Wait only briefly for locks, without a statement timeout, because building a large index takes long."""
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
