"""A separate database, for tests of `manage.py migrate`."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager

import psycopg

from tests.journeys.service import PROJECT, postgresql_database

SCHEMA = {
    "sqlite": "SELECT type, name, sql FROM sqlite_master ORDER BY type, name",
    "postgresql": """
        SELECT table_name, column_name, '', data_type FROM information_schema.columns
        WHERE table_schema = 'public'
        UNION ALL SELECT conrelid::regclass::text, conname, contype::text, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace
        UNION ALL SELECT tablename, indexname, '', indexdef FROM pg_indexes WHERE schemaname = 'public'
        UNION ALL SELECT tgrelid::regclass::text, tgname, '', pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
        ORDER BY 1, 2, 3
    """,
}
# Tables of 0.1.0 that nothing has read since `payments.0002_hourly_totals`. New databases don't have them.
UNREAD = ("payments_daytotals", "payments_rolledday")


class Database:
    """A separate database, and `manage.py migrate` on it."""

    def __init__(self, url, connect):
        self.url, self._connect = url, connect
        self.vendor = "sqlite" if url.startswith("sqlite") else "postgresql"

    def run(self, statement):
        with closing(self._connect()) as connection:
            result = connection.execute(statement)
            rows = result.fetchall() if result.description else []
            connection.commit()
        return rows

    def migrate(self):
        return self.manage("migrate", "--no-input", "-v0")

    def manage(self, *arguments):
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=PROJECT,
            env=os.environ | {"DATABASE_URL": self.url},
            capture_output=True,
            text=True,
            check=False,
            timeout=400,
        )

    def schema(self):
        return self.run(SCHEMA[self.vendor])

    def migrations(self):
        return {
            (app, name): applied
            for app, name, applied in self.run("SELECT app, name, applied FROM django_migrations")
        }


@contextmanager
def new_database(folder):
    if url := os.environ.get("DATABASE_URL"):
        with postgresql_database(url) as own:
            yield Database(own, lambda: psycopg.connect(own))
    else:
        file = folder / "db.sqlite3"
        yield Database(f"sqlite:///{file}", lambda: sqlite3.connect(file))
