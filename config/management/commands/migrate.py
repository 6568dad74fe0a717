"""Django's migrate, for a database in use.

It waits for locks briefly and retries, and one process migrates at a time. It refuses a database that is behind the last
migration before the squash. The tables of a new one are created at once.
"""

import fcntl
import os
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import ALL_CHECKS, CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.sqlite3 import base as sqlite3
from django.db.migrations import Migration
from psycopg import errors

from config.database import new_database
from config.database.migration_state import partly_replaced
from kit.db import postgresql
from kit.terminal.terminal import TerminalCommand

# While a migration waits for a table lock, all other queries of the table wait behind it. This is shorter than
# deadlock_timeout (one second), so that in a deadlock the migration gives up.
LOCK_TIMEOUT = "500ms"
TRIES = 60
PAUSE = 1.0  # seconds
MIGRATES = 7_303_014  # the advisory lock of the process that migrates

# The last commit that has the migrations which each app's `0001_initial` replaces.
BEFORE_SQUASH = "c061737e"
# That commit can't alter SQLite's tables while triggers refer to them. It creates them anew afterwards.
DROP_TRIGGERS = "from django.db import connection; from kit.db.triggers import drop_all; drop_all(connection)"

SHARED_SESSION = (
    "A migration needs a session of its own, and DATABASE_POOLING=transaction says that sessions are shared. Nothing was"
    " changed. Run it with DATABASE_POOLING=session and the DATABASE_URL of PostgreSQL itself."
)


class Command(TerminalCommand, migrate.Command):
    help = (
        f"{migrate.Command.help} It waits up to {LOCK_TIMEOUT} for a lock and retries"
        f" up to {TRIES} times. Example: manage.py migrate --no-input"
    )
    requires_system_checks = ALL_CHECKS
    needs_tables = False

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate. Applied migrations are recorded, so each try continues where the last one ended.

        :raises CommandError: the connection is to PgBouncer in transaction mode, or the database has some, but not all,
            of the migrations that an `0001_initial` replaces
        """
        if settings.DATABASE_POOLING == "transaction":
            raise CommandError(SHARED_SESSION)
        connection = connections[options["database"]]
        if partly := partly_replaced(connection):
            raise CommandError(_behind_the_squash(partly[0], connection))
        for one in range(1, TRIES + 1):
            try:
                with _polite(), _alone(connection):
                    if _migrates_all(options) and new_database.is_new(connection):
                        self._create_tables(connection, options["verbosity"])
                    super().handle(*args, **options)
            except OperationalError as problem:
                if not isinstance(problem.__cause__, errors.LockNotAvailable) or one == TRIES:
                    raise
                self.stderr.write(f"Another transaction holds a lock; starting try {one + 1} of {TRIES}.")
                time.sleep(PAUSE)
            else:
                return

    def _create_tables(self, connection: BaseDatabaseWrapper, verbosity: int) -> None:
        if verbosity:
            self.stdout.write("Creating the tables of a new database ...")
        new_database.create_tables(connection)


def _migrates_all(options: dict[str, Any]) -> bool:
    """Return whether the command applies all migrations of all apps, and does nothing else."""
    others = ("app_label", "migration_name", "fake", "fake_initial", "plan", "check_unapplied", "prune")
    return not any(options[name] for name in others)


def _behind_the_squash(migration: Migration, connection: BaseDatabaseWrapper) -> str:
    app, last = migration.replaces[-1]
    return (
        f"This database is behind {app}.{last}, before the migrations of this release begin. Nothing was changed. Stop"
        f" the service and back up. Then migrate with the commit {BEFORE_SQUASH}, which has the migrations in between, in"
        " an installation of its own:\n"
        + "".join(f"  {command}\n" for command in _commands_before_squash(connection))
        + "Then run `manage.py migrate` of this release again. CHANGELOG.md has the steps for images. If you don't need"
        " the data, use an empty database instead."
    )


def _commands_before_squash(connection: BaseDatabaseWrapper) -> Iterator[str]:
    """Yield the commands that migrate this database with the commit before the squash, for the project's folder."""
    folder = f"../sluice-{BEFORE_SQUASH}"
    yield f"git worktree add --detach {folder} {BEFORE_SQUASH}"
    yield f"make --directory={folder} install"
    if (settings.BASE_DIR / ".env").exists():
        yield f"cp .env {folder}/"
    if connection.vendor == "sqlite":
        yield f".venv/bin/python manage.py shell --no-imports -c {shlex.quote(DROP_TRIGGERS)}"
    data = f"SANDBOX_DATA={shlex.quote(str(settings.SANDBOX_FOLDER.path))} " if settings.SANDBOX else ""
    yield f"(cd {folder} && {data}.venv/bin/python manage.py migrate)"


@contextmanager
def _polite() -> Iterator[None]:
    """Wait only briefly for locks, without a statement timeout, because building a large index takes long."""
    postgresql.rows(f"SET lock_timeout = '{LOCK_TIMEOUT}'; SET statement_timeout = 0")
    try:
        yield
    finally:
        postgresql.rows("RESET lock_timeout; RESET statement_timeout")


@contextmanager
def _alone(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Keep other processes from migrating the database meanwhile.

    On PostgreSQL it doesn't wait for the lock, because an index that is built concurrently waits for all who wait.

    :raises OperationalError: another process migrates it (PostgreSQL)
    """
    if isinstance(connection, sqlite3.DatabaseWrapper) and not connection.is_in_memory_db():
        with _folder_locked(Path(connection.settings_dict["NAME"]).parent):
            yield
        return
    if postgresql.rows("SELECT pg_try_advisory_lock(%s)", [MIGRATES]) == [(False,)]:
        raise OperationalError("Another process migrates this database.") from errors.LockNotAvailable()
    try:
        yield
    finally:
        postgresql.rows("SELECT pg_advisory_unlock(%s)", [MIGRATES])


@contextmanager
def _folder_locked(folder: Path) -> Iterator[None]:
    """Lock the folder of a SQLite database, once no other process has it locked.

    The database's own file isn't opened here: closing it would end SQLite's locks.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
