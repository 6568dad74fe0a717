"""Deletion of what a transactional test committed.

Django's flush would truncate every table and create triggers, content types and permissions anew. That takes most of a
second, longer than nearly every test.
"""

from functools import cache

from django.db import connection, transaction
from django.test import TransactionTestCase

MADE_BY_MIGRATE = {"django_migrations", "django_content_type", "auth_permission"}


def delete_after_tests() -> None:
    """Have transactional tests end with `delete` instead of Django's flush."""
    TransactionTestCase._fixture_teardown = lambda _self: delete()  # type: ignore[attr-defined]


def delete() -> None:
    """Delete all rows except those that `migrate` makes, although triggers refuse it."""
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute(_rows_exist())
        filled = [table for (table,) in cursor.fetchall()]
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL session_replication_role = replica")
        triggers = _drop_sqlite_triggers(cursor, filled)
        for table in filled:
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)}")
        for created in triggers:
            cursor.execute(created)


@cache
def _rows_exist() -> str:
    """Return the statement that selects the names of tables with rows to delete."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
    return " UNION ALL ".join(
        f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {connection.ops.quote_name(table)})"
        for table in sorted({*tables} - MADE_BY_MIGRATE)
    )


def _drop_sqlite_triggers(cursor, tables: list[str]) -> list[str]:
    """Drop the triggers of tables on SQLite, which can't be told to ignore them, and return what creates them again."""
    if connection.vendor != "sqlite":
        return []
    cursor.execute("SELECT tbl_name, name, sql FROM sqlite_master WHERE type = 'trigger'")
    found = [(name, sql) for table, name, sql in cursor.fetchall() if table in tables]
    for name, _ in found:
        cursor.execute(f"DROP TRIGGER {name}")
    return [sql for _, sql in found]
