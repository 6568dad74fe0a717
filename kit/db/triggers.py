"""Rules enforced by database triggers, on PostgreSQL and SQLite.

`AppendOnly` refuses to change or delete rows. `Final` allows a column to change only from one given value. `Fixed`
refuses changes of columns, `Kept` also of nullable ones. `NeverDeleted` refuses to delete rows, and `PermanentRows`
does both. `Transitions` allows only the listed transitions of a column.

Triggers are created after each `migrate` and not by migrations, because SQLite alters a table by recreating it,
which drops its triggers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

from django.apps import AppConfig
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.models.signals import post_migrate


class TriggerRule(Protocol):
    def triggers(self, vendor: str) -> dict[str, list[str]]:
        """Return the statements that create each trigger, by trigger name."""


@dataclass(frozen=True, slots=True)
class AppendOnly:
    """Refuse every UPDATE and DELETE of a table's rows."""

    table: str

    def triggers(self, vendor: str) -> dict[str, list[str]]:
        refusal = f"{self.table} is append-only"
        return refusing_trigger(
            vendor, f"{self.table}_no_update", f"BEFORE UPDATE ON {self.table} FOR EACH ROW", refusal
        ) | refusing_trigger(
            vendor, f"{self.table}_no_delete", f"BEFORE DELETE ON {self.table} FOR EACH ROW", refusal
        )


@dataclass(frozen=True, slots=True)
class Final:
    """Refuse to change a column unless it holds `unless`."""

    table: str
    column: str
    unless: str

    def triggers(self, vendor: str) -> dict[str, list[str]]:
        column = self.column
        return refusing_trigger(
            vendor,
            f"{self.table}_{column}_is_final",
            f"BEFORE UPDATE OF {column} ON {self.table} FOR EACH ROW "
            f"WHEN (OLD.{column} <> '{self.unless}' AND NEW.{column} <> OLD.{column})",
            f"{self.table}.{column} is final",
        )


@dataclass(frozen=True, slots=True)
class Fixed:
    """Refuse every change of columns. The columns may not be nullable."""

    table: str
    columns: tuple[str, ...]

    def triggers(self, vendor: str) -> dict[str, list[str]]:
        changed = " OR ".join(f"NEW.{column} <> OLD.{column}" for column in self.columns)
        return refusing_trigger(
            vendor,
            f"{self.table}_keeps_its_columns",
            f"BEFORE UPDATE OF {', '.join(self.columns)} ON {self.table} FOR EACH ROW WHEN ({changed})",
            f"{self.table} keeps {', '.join(self.columns)}",
        )


@dataclass(frozen=True, slots=True)
class Kept:
    """Refuse every change of columns, from and to null too."""

    table: str
    columns: tuple[str, ...]

    def triggers(self, vendor: str) -> dict[str, list[str]]:
        differs = "IS NOT" if vendor == "sqlite" else "IS DISTINCT FROM"
        changed = " OR ".join(f"NEW.{column} {differs} OLD.{column}" for column in self.columns)
        return refusing_trigger(
            vendor,
            f"{self.table}_keeps_{self.columns[0]}",
            f"BEFORE UPDATE OF {', '.join(self.columns)} ON {self.table} FOR EACH ROW WHEN ({changed})",
            f"{self.table} keeps {', '.join(self.columns)}",
        )


@dataclass(frozen=True, slots=True)
class NeverDeleted:
    """Refuse every DELETE of a table's rows."""

    table: str

    def triggers(self, vendor: str) -> dict[str, list[str]]:
        return refusing_trigger(
            vendor,
            f"{self.table}_no_delete",
            f"BEFORE DELETE ON {self.table} FOR EACH ROW",
            f"{self.table} keeps its rows",
        )


@dataclass(frozen=True, slots=True)
class PermanentRows:
    """Refuse every DELETE of a table's rows, and every change of the given columns."""

    table: str
    columns: tuple[str, ...]

    def triggers(self, vendor: str) -> dict[str, list[str]]:
        return NeverDeleted(self.table).triggers(vendor) | Fixed(self.table, self.columns).triggers(vendor)


def refusing_trigger(vendor: str, name: str, event: str, refusal: str) -> dict[str, list[str]]:
    """Return a trigger that raises the error `refusal` whenever it fires."""
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
class Transitions:
    """Refuse changes of a column other than the given transitions from each value to others."""

    table: str
    column: str
    transitions: Mapping[str, Iterable[str]]

    def triggers(self, vendor: str) -> dict[str, list[str]]:
        column = self.column
        allowed = " OR ".join(
            f"OLD.{column} = '{before}' AND NEW.{column} = '{after}'"
            for before, others in self.transitions.items()
            for after in others
        )
        return refusing_trigger(
            vendor,
            f"{self.table}_{column}_moves",
            f"BEFORE UPDATE OF {column} ON {self.table} FOR EACH ROW "
            f"WHEN (NEW.{column} <> OLD.{column} AND NOT ({allowed}))",
            f"{self.table}.{column} has no such transition",
        )


_registered: list[TriggerRule] = []  # of all apps


def create_after_migrate(app: AppConfig, rules: Iterable[TriggerRule]) -> None:
    """Create an app's triggers whenever its migrations have run."""
    _registered.extend(rules)

    def create_triggers(using: str, **_: Any) -> None:
        create_missing(rules, connections[using])

    post_migrate.connect(create_triggers, sender=app, weak=False)  # a weak reference would be lost at once


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the names of triggers that are missing from the database."""
    with connection.cursor() as cursor:
        cursor.execute(_EXISTING[connection.vendor])
        existing = {name for (name,) in cursor.fetchall()}
    return [name for rule in _registered for name in rule.triggers(connection.vendor) if name not in existing]


def create_missing(rules: Iterable[TriggerRule], connection: BaseDatabaseWrapper) -> None:
    """Create the triggers that are missing, except those on columns that a later migration adds."""
    with connection.cursor() as cursor:
        cursor.execute(_EXISTING[connection.vendor])
        existing = {name for (name,) in cursor.fetchall()}
        for rule in rules:
            new = {
                name: statements
                for name, statements in rule.triggers(connection.vendor).items()
                if name not in existing
            }
            if new and _has_columns(cursor, rule, connection.vendor):
                for statement in chain.from_iterable(new.values()):
                    cursor.execute(statement)


def _has_columns(cursor: CursorWrapper, rule: TriggerRule, vendor: str) -> bool:
    """Return whether the columns that a rule of `Kept` names exist: the database may be migrated in part only."""
    if not isinstance(rule, Kept):
        return True
    cursor.execute(_COLUMNS[vendor], [rule.table])
    return {name for (name,) in cursor.fetchall()}.issuperset(rule.columns)


_COLUMNS = {
    "postgresql": "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND NOT attisdropped",
    "sqlite": "SELECT name FROM pragma_table_info(%s)",
}
_EXISTING = {
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
}
