"""Manual changes of the database that bypass its triggers, for `check_ledger` to find."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def tampering(*statements: str) -> Iterator[None]:
    """Run statements without triggers, foreign keys and SQLite's checks, and roll everything back at the end."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                for statement in [*_GUARDS_DOWN[connection.vendor](cursor), *statements]:
                    cursor.execute(statement)
            yield
            transaction.set_rollback(True)
    finally:
        if connection.vendor == "sqlite":
            connection.cursor().execute("PRAGMA ignore_check_constraints = OFF")


def _drop_triggers(cursor):
    cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
    drops = [f"DROP TRIGGER {name}" for (name,) in cursor.fetchall()]
    return ["PRAGMA ignore_check_constraints = ON", *drops]


_GUARDS_DOWN = {
    "sqlite": _drop_triggers,
    "postgresql": lambda _: ["SET LOCAL session_replication_role = replica"],
}
