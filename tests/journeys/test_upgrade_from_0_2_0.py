"""The upgrade from 0.2.0 is `manage.py migrate` alone.

`tests/data/release_0_2_0.*` are databases of that release (commit 1ab16e8) with the sample data of its browser tests: a
SQLite file, and what pg_dump wrote. They have its triggers, which migrations have to cope with.
"""

import gzip
import re
import sqlite3
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.journeys.migrated_database import UNREAD, new_database
from tests.journeys.service import PROJECT

pytestmark = [pytest.mark.journey, pytest.mark.long, pytest.mark.xdist_group("upgrade_from_0_2_0")]

DATA = PROJECT / "tests" / "data"
# Tables that a migration adds rows to or keeps its own account in.
OF_DJANGO = frozenset(
    {"django_migrations", "django_content_type", "auth_permission", "auth_group_permissions"}
)
# PostgreSQL keeps a trigger that exists. This one of 0.2.0 has a column more, which another one keeps now.
STRICTER = "payments_proposal_keeps_its_columns"
TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
}
COLUMNS = {
    "sqlite": "SELECT name FROM pragma_table_info('{table}')",
    "postgresql": "SELECT column_name::text FROM information_schema.columns WHERE table_name = '{table}'",
}


def restore(database):
    if database.vendor == "sqlite":
        file = Path(urlsplit(database.url).path)
        file.write_bytes(gzip.decompress((DATA / "release_0_2_0.sqlite3.gz").read_bytes()))
    else:
        statements = gzip.decompress((DATA / "release_0_2_0.postgresql.sql.gz").read_bytes())
        with psycopg.connect(database.url, autocommit=True) as connection:
            connection.execute(statements)


def tables(database):
    """Return the columns of each table."""
    names = sorted(name for (name,) in database.run(TABLES[database.vendor]))
    return {
        table: sorted(name for (name,) in database.run(COLUMNS[database.vendor].format(table=table)))
        for table in names
        if table not in OF_DJANGO
    }


def rows(database, columns):
    """Return how often each row is in each table."""
    return {
        table: Counter(map(repr, database.run(f"SELECT {quoted(names)} FROM {table}")))  # noqa: S608
        for table, names in columns.items()
    }


def quoted(names):
    return ", ".join(f'"{name}"' for name in names)


def shape(database):
    """Return the schema. PostgreSQL writes casts and brackets of conditions in another way after pg_dump, and keeps triggers
    that exist, whose conditions 0.2.0 wrote in another way. SQLite moves columns that a migration alters.
    """
    written_otherwise = r"(?<=FOR EACH ROW) WHEN .*(?= EXECUTE)|::(character varying|text)(\[\])?|[() ]"
    return sorted(
        [sorted(re.sub(written_otherwise, "", str(part)).split(",")) for part in row]
        for row in database.schema()
        if row[1] != STRICTER and not any(table in name for table in UNREAD for name in row[:2])
    )


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory):
    """Return a migrated database, and what was in it before."""
    with new_database(tmp_path_factory.mktemp("upgraded")) as database:
        restore(database)
        columns = tables(database)
        before = rows(database, columns)
        result = database.migrate()
        assert result.returncode == 0, result.stderr
        yield database, columns, before


def test_keeps_every_row(upgraded):
    database, columns, before = upgraded

    after = rows(database, columns)

    assert sum(before["payments_transaction"].values()) == 33
    assert {table: before[table] - after[table] for table in before if before[table] - after[table]} == {}


def test_has_the_schema_of_a_new_database(upgraded, tmp_path):
    database, *_ = upgraded
    with new_database(tmp_path) as new:
        assert new.migrate().returncode == 0
        assert shape(database) == shape(new)


def test_keeps_constraints_triggers_and_invariants(upgraded):
    database, *_ = upgraded

    if database.vendor == "sqlite":
        assert database.run("PRAGMA foreign_key_check") == []
    else:
        assert database.run("SELECT conname FROM pg_constraint WHERE NOT convalidated") == []
    with pytest.raises((sqlite3.IntegrityError, psycopg.errors.IntegrityError), match="append-only"):
        database.run("UPDATE ledger_entry SET note = 'changed'")
    checked = database.manage("check_ledger")
    assert checked.returncode == 0, checked.stdout
