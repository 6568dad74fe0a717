"""Rules that the database itself enforces, on both engines, by trigger.

`AppendOnly` keeps a table's rows as they were written. `Final` lets a column change only while it holds
one given value: what is final stays final, whichever code or person writes. `Fixed` keeps columns from being
changed, and `Kept` the rows from being deleted as well. `Moves` lets a column change by the moves of a table only.

An app's guards are put up after each `migrate` rather than by a migration: SQLite's way of altering a
table makes it anew, and the triggers of the old one would be gone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from django.apps import AppConfig
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.signals import post_migrate


class Guard(Protocol):
    def triggers(self, vendor: str) -> dict[str, list[str]]:
        """Return, by trigger name, the statements that create it."""


@dataclass(frozen=True, slots=True)
class AppendOnly:
    """Refuse every UPDATE and DELETE of a table's rows."""

    table: str

    def triggers(self, vendor: str) -> dict[str, list[str]]:
        refusal = f"{self.table} is append-only"
        return refuse(
            vendor, f"{self.table}_no_update", f"BEFORE UPDATE ON {self.table} FOR EACH ROW", refusal
        ) | refuse(vendor, f"{self.table}_no_delete", f"BEFORE DELETE ON {self.table} FOR EACH ROW", refusal)


@dataclass(frozen=True, slots=True)
class Final:
    """Refuse to change a column unless it holds `unless`."""

    table: str
    column: str
    unless: str

    def triggers(self, vendor: str) -> dict[str, list[str]]:
        column = self.column
        return refuse(
            vendor,
            f"{self.table}_{column}_is_final",
            f"BEFORE UPDATE OF {column} ON {self.table} FOR EACH ROW "
            f"WHEN (OLD.{column} <> '{self.unless}' AND NEW.{column} <> OLD.{column})",
            f"{self.table}.{column} is final",
        )


@dataclass(frozen=True, slots=True)
class Fixed:
    """Refuse every change of columns, which are never null."""

    table: str
    columns: tuple[str, ...]

    def triggers(self, vendor: str) -> dict[str, list[str]]:
        changed = " OR ".join(f"NEW.{column} <> OLD.{column}" for column in self.columns)
        return refuse(
            vendor,
            f"{self.table}_keeps_its_columns",
            f"BEFORE UPDATE OF {', '.join(self.columns)} ON {self.table} FOR EACH ROW WHEN ({changed})",
            f"{self.table} keeps {', '.join(self.columns)}",
        )


@dataclass(frozen=True, slots=True)
class Kept:
    """Refuse every DELETE of a table's rows, and every change of the columns that say what a row is."""

    table: str
    columns: tuple[str, ...]

    def triggers(self, vendor: str) -> dict[str, list[str]]:
        return refuse(
            vendor,
            f"{self.table}_no_delete",
            f"BEFORE DELETE ON {self.table} FOR EACH ROW",
            f"{self.table} keeps its rows",
        ) | Fixed(self.table, self.columns).triggers(vendor)


def refuse(vendor: str, name: str, event: str, refusal: str) -> dict[str, list[str]]:
    """Return the trigger that refuses whatever makes it fire. `refusal` is the database's error."""
    if vendor == "sqlite":
        return {name: [f"CREATE TRIGGER {name} {event} BEGIN SELECT RAISE(ABORT, '{refusal}'); END"]}
    return {
        name: [
            (
                f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                f"RAISE EXCEPTION '{refusal}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
            ),
            f"CREATE TRIGGER {name} {event} EXECUTE FUNCTION {name}()",
        ]
    }


@dataclass(frozen=True, slots=True)
class Moves:
    """Refuse to change a column but by one of the moves of a table: from each value, to which others."""

    table: str
    column: str
    moves: Mapping[str, Iterable[str]]

    def triggers(self, vendor: str) -> dict[str, list[str]]:
        column = self.column
        allowed = " OR ".join(
            f"OLD.{column} = '{before}' AND NEW.{column} = '{after}'"
            for before, others in self.moves.items()
            for after in others
        )
        return refuse(
            vendor,
            f"{self.table}_{column}_moves",
            f"BEFORE UPDATE OF {column} ON {self.table} FOR EACH ROW "
            f"WHEN (NEW.{column} <> OLD.{column} AND NOT ({allowed}))",
            f"{self.table}.{column} does not move like this",
        )


_known: list[Guard] = []  # every app's


def put_up_after_migrate(app: AppConfig, guards: Iterable[Guard]) -> None:
    """Have an app's guards put up whenever its migrations have run."""
    _known.extend(guards)

    def put_up_missing(using: str, **_: Any) -> None:
        put_up(guards, connections[using])

    post_migrate.connect(put_up_missing, sender=app, weak=False)  # weak: it would be gone at once


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the names of guards that the database should have and has not."""
    with connection.cursor() as cursor:
        cursor.execute(_EXISTING[connection.vendor])
        existing = {name for (name,) in cursor.fetchall()}
    return [name for guard in _known for name in guard.triggers(connection.vendor) if name not in existing]


def put_up(guards: Iterable[Guard], connection: BaseDatabaseWrapper) -> None:
    """Create the triggers that are not there yet."""
    with connection.cursor() as cursor:
        cursor.execute(_EXISTING[connection.vendor])
        existing = {name for (name,) in cursor.fetchall()}
        for guard in guards:
            for name, statements in guard.triggers(connection.vendor).items():
                if name not in existing:
                    for statement in statements:
                        cursor.execute(statement)


_EXISTING = {
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
}
