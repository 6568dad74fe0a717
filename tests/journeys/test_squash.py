"""`manage.py migrate` on a new database, one at the last migration before the squash, and one behind it."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager

import psycopg
import pytest

from tests.journeys.service import PROJECT, postgresql_database

pytestmark = [pytest.mark.journey, pytest.mark.long]

# Rows that don't exist in databases from before the squash.
DELETE_LATER = "DELETE FROM django_migrations WHERE name = '0001_initial' AND app IN ('config', 'dashboard')"
DELETE_LAST = "DELETE FROM django_migrations WHERE app = 'payments' AND name > '0014_tariff_currency'"
SCHEMA = {
    "sqlite": "SELECT type, name, sql FROM sqlite_master ORDER BY type, name",
    "postgresql": """
        SELECT table_name, column_name, ordinal_position::text, data_type FROM information_schema.columns
        WHERE table_schema = 'public'
        UNION ALL SELECT conrelid::regclass::text, conname, contype::text, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace
        UNION ALL SELECT tablename, indexname, '', indexdef FROM pg_indexes WHERE schemaname = 'public'
        UNION ALL SELECT tgrelid::regclass::text, tgname, '', pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
        ORDER BY 1, 2, 3
    """,
}


class Database:
    """A separate database, and `manage.py migrate` on it."""

    def __init__(self, url, connect):
        self.url, self._connect = url, connect

    def run(self, statement):
        with closing(self._connect()) as connection:
            result = connection.execute(statement)
            rows = result.fetchall() if result.description else []
            connection.commit()
        return rows

    def migrate(self):
        return subprocess.run(
            [sys.executable, "manage.py", "migrate", "--no-input", "-v0"],
            cwd=PROJECT,
            env=os.environ | {"DATABASE_URL": self.url},
            capture_output=True,
            text=True,
            check=False,
            timeout=150,
        )

    def schema(self):
        return self.run(SCHEMA["sqlite" if self.url.startswith("sqlite") else "postgresql"])

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


def test_continues_at_the_last_replaced_migration_and_rejects_an_earlier_one(tmp_path):
    with new_database(tmp_path) as database:
        assert database.migrate().returncode == 0
        schema, migrations = database.schema(), database.migrations()
        assert ("payments", "0027_index_card_number_hashes") in migrations

        database.run(DELETE_LATER)
        assert database.migrate().returncode == 0
        assert database.schema() == schema
        assert database.migrations().keys() == migrations.keys()

        database.run(DELETE_LAST)
        migrations = database.migrations()
        refused = database.migrate()
        assert refused.returncode == 1
        assert "stands at payments.0014_tariff_currency" in refused.stderr
        assert "run its `manage.py migrate`" in refused.stderr
        assert database.schema() == schema
        assert database.migrations() == migrations
