"""Rules that the database itself enforces, on both engines, by trigger.

`AppendOnly` keeps a table's rows as they were written. `Final` lets a column change only while it holds
one given value: what is final stays final, whichever code or person writes.

An app's guards are put up after each `migrate` rather than by a migration: SQLite's way of altering a
table makes it anew, and the triggers of the old one would be gone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from django.apps import AppConfig
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.signals import post_migrate


class Guard(Protocol):
    @property
    def triggers(self) -> dict[str, str]:
        """Return, by trigger name, the event and condition at which it refuses, as SQL."""

    @property
    def table(self) -> str: ...

    @property
    def refusal(self) -> str:
        """Return the sentence of the database's error."""


@dataclass(frozen=True, slots=True)
class AppendOnly:
    """Refuse every UPDATE and DELETE of a table's rows."""

    table: str

    @property
    def triggers(self) -> dict[str, str]:
        return {
            f"{self.table}_no_update": f"BEFORE UPDATE ON {self.table} FOR EACH ROW",
            f"{self.table}_no_delete": f"BEFORE DELETE ON {self.table} FOR EACH ROW",
        }

    @property
    def refusal(self) -> str:
        return f"{self.table} is append-only"


@dataclass(frozen=True, slots=True)
class Final:
    """Refuse to change a column unless it holds `unless`."""

    table: str
    column: str
    unless: str

    @property
    def triggers(self) -> dict[str, str]:
        column = self.column
        return {
            f"{self.table}_{column}_is_final": f"BEFORE UPDATE OF {column} ON {self.table} FOR EACH ROW "
            f"WHEN (OLD.{column} <> '{self.unless}' AND NEW.{column} <> OLD.{column})"
        }

    @property
    def refusal(self) -> str:
        return f"{self.table}.{self.column} is final"


def put_up_after_migrate(app: AppConfig, guards: Iterable[Guard]) -> None:
    """Have an app's guards put up whenever its migrations have run."""

    def put_up_missing(using: str, **_: Any) -> None:
        put_up(guards, connections[using])

    post_migrate.connect(put_up_missing, sender=app, weak=False)  # weak: it would be gone at once


def put_up(guards: Iterable[Guard], connection: BaseDatabaseWrapper) -> None:
    """Create the triggers that are not there yet."""
    with connection.cursor() as cursor:
        cursor.execute(_EXISTING[connection.vendor])
        existing = {name for (name,) in cursor.fetchall()}
        for guard in guards:
            for name, event in guard.triggers.items():
                if name not in existing:
                    for statement in _statements(connection.vendor, guard, name, event):
                        cursor.execute(statement)


_EXISTING = {
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
}


def _statements(vendor: str, guard: Guard, name: str, event: str) -> list[str]:
    if vendor == "sqlite":
        return [f"CREATE TRIGGER {name} {event} BEGIN SELECT RAISE(ABORT, '{guard.refusal}'); END"]
    function = (
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"RAISE EXCEPTION '{guard.refusal}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
    )
    return [function, f"CREATE TRIGGER {name} {event} EXECUTE FUNCTION {name}()"]
