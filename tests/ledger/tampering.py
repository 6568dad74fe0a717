"""Manual changes of the database that bypass its triggers, for `check_ledger` to find."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def tampering(*statements: str) -> Iterator[None]:
    """Run statements without triggers and foreign keys, and roll everything back at the end."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            for statement in [*_GUARDS_DOWN[connection.vendor](cursor), *statements]:
                cursor.execute(statement)
        yield
        transaction.set_rollback(True)


def _drop_triggers(cursor):
    cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
    return [f"DROP TRIGGER {name}" for (name,) in cursor.fetchall()]


_GUARDS_DOWN = {
    "sqlite": _drop_triggers,
    "postgresql": lambda _: ["SET LOCAL session_replication_role = replica"],
}
