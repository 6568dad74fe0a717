"""The database edited by hand, past its guards: what `check_ledger` is there to find."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def tampering(*statements: str) -> Iterator[None]:
    """Run statements with every guard and foreign key out of the way; all is undone at the end."""
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
