"""Rules enforced by database triggers, on PostgreSQL and SQLite.

`AppendOnly` refuses to change or delete rows. `Final` allows a column to change only from one given value. `Kept`
refuses changes of columns, `NeverDeleted` to delete rows, and `PermanentRows` does both. `KeptUnless` refuses changes of a
column unless a query finds a row. `Transitions` allows only the listed transitions of a column, and `SumToZero` only amounts
that balance.

Triggers are created after each `migrate` and not by migrations, because SQLite alters a table by recreating it,
which drops its triggers. It fails if a trigger of another table refers to it, so SQLite's are dropped before.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Protocol

from django.apps import AppConfig
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.signals import post_migrate, pre_migrate

ITS_COLUMNS = "its_columns"  # in the names of triggers of `PermanentRows`


class Trigger(NamedTuple):
    """The statements that create a trigger, by database. Empty: the database has no such trigger."""

    name: str
    postgresql: tuple[str, ...]
    sqlite: tuple[str, ...]


class TriggerRule(Protocol):
    def triggers(self) -> list[Trigger]:
        """Return the triggers that enforce the rule."""


@dataclass(frozen=True, slots=True)
class AppendOnly:
    """Refuse every UPDATE and DELETE of a table's rows."""

    table: str

    def triggers(self) -> list[Trigger]:
        refusal = f"{self.table} is append-only"
        changed, deleted = (f"BEFORE {event} ON {self.table} FOR EACH ROW" for event in ("UPDATE", "DELETE"))
        return [
            refusing_trigger(f"{self.table}_no_update", changed, refusal),
            refusing_trigger(f"{self.table}_no_delete", deleted, refusal),
        ]


@dataclass(frozen=True, slots=True)
class Final:
    """Refuse to change a column unless it holds `unless`."""

    table: str
    column: str
    unless: str

    def triggers(self) -> list[Trigger]:
        column = self.column
        event = (
            f"BEFORE UPDATE OF {column} ON {self.table} FOR EACH ROW "
            f"WHEN (OLD.{column} <> '{self.unless}' AND NEW.{column} <> OLD.{column})"
        )
        name = f"{self.table}_{column}_is_final"
        return [refusing_trigger(name, event, f"{self.table}.{column} is final")]


@dataclass(frozen=True, slots=True)
class Kept:
    """Refuse every change of columns, from and to null too. `name` ends the trigger's name."""

    table: str
    columns: tuple[str, ...]
    name: str = ""

    def triggers(self) -> list[Trigger]:
        # Not `IS DISTINCT FROM`, which SQLite has only since 3.39.
        changed = " OR ".join(
            f"(NEW.{column} = OLD.{column}) IS NOT TRUE AND NOT (NEW.{column} IS NULL AND OLD.{column} IS NULL)"
            for column in self.columns
        )
        columns = ", ".join(self.columns)
        event = f"BEFORE UPDATE OF {columns} ON {self.table} FOR EACH ROW WHEN ({changed})"
        name = f"{self.table}_keeps_{self.name or self.columns[0]}"
        return [refusing_trigger(name, event, f"{self.table} keeps {columns}")]


@dataclass(frozen=True, slots=True)
class KeptUnless:
    """Refuse changes of a column unless a query about OLD and NEW finds a row."""

    table: str
    column: str
    query: str

    def triggers(self) -> list[Trigger]:
        name, refusal = f"{self.table}_keeps_{self.column}", f"{self.table} keeps {self.column}"
        event = f"BEFORE UPDATE OF {self.column} ON {self.table} FOR EACH ROW"
        refused = f"NEW.{self.column} <> OLD.{self.column} AND NOT EXISTS ({self.query})"
        # A condition of PostgreSQL's triggers has no subqueries, so its function has them.
        function = (
            f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF {refused} THEN "
            f"RAISE EXCEPTION '{refusal}' USING ERRCODE = 'integrity_constraint_violation'; END IF; RETURN NEW; END $$"
        )
        on_sqlite = refusing_trigger(name, f"{event} WHEN ({refused})", refusal).sqlite
        return [
            Trigger(name, (function, f"CREATE TRIGGER {name} {event} EXECUTE FUNCTION {name}()"), on_sqlite)
        ]


@dataclass(frozen=True, slots=True)
class NeverDeleted:
    """Refuse every DELETE of a table's rows."""

    table: str

    def triggers(self) -> list[Trigger]:
        event = f"BEFORE DELETE ON {self.table} FOR EACH ROW"
        return [refusing_trigger(f"{self.table}_no_delete", event, f"{self.table} keeps its rows")]


@dataclass(frozen=True, slots=True)
class PermanentRows:
    """Refuse every DELETE of a table's rows, and every change of the given columns."""

    table: str
    columns: tuple[str, ...]

    def triggers(self) -> list[Trigger]:
        kept = Kept(self.table, self.columns, ITS_COLUMNS)
        return [*NeverDeleted(self.table).triggers(), *kept.triggers()]


def refusing_trigger(name: str, event: str, refusal: str) -> Trigger:
    """Return a trigger that raises the error `refusal` whenever it fires."""
    function = (
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"RAISE EXCEPTION '{refusal}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
    )
    return Trigger(
        name,
        postgresql=(function, f"CREATE TRIGGER {name} {event} EXECUTE FUNCTION {name}()"),
        sqlite=(f"CREATE TRIGGER {name} {event} BEGIN SELECT RAISE(ABORT, '{refusal}'); END",),
    )


_SUMS_TO_ZERO = """
    CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (SELECT 1 FROM added GROUP BY {column} HAVING sum(amount) <> 0) THEN
            RAISE EXCEPTION '{refusal}' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NULL;
    END $$
"""


@dataclass(frozen=True, slots=True)
class SumToZero:
    """Refuse an INSERT whose amounts don't sum to zero for each value of a column. PostgreSQL only.

    SQLite's triggers see one row at a time.
    """

    table: str
    column: str
    refusal: str

    def triggers(self) -> list[Trigger]:
        name = f"{self.table}s_are_balanced"
        function = _SUMS_TO_ZERO.format(name=name, column=self.column, refusal=self.refusal)
        trigger = (
            f"CREATE TRIGGER {name} AFTER INSERT ON {self.table} "
            f"REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION {name}()"
        )
        return [Trigger(name, postgresql=(function, trigger), sqlite=())]


@dataclass(frozen=True, slots=True)
class Transitions:
    """Refuse changes of a column other than the given transitions from each value to others."""

    table: str
    column: str
    transitions: Mapping[str, Iterable[str]]

    def triggers(self) -> list[Trigger]:
        column = self.column
        allowed = " OR ".join(
            f"OLD.{column} = '{before}' AND NEW.{column} = '{after}'"
            for before, others in self.transitions.items()
            for after in others
        )
        event = (
            f"BEFORE UPDATE OF {column} ON {self.table} FOR EACH ROW "
            f"WHEN (NEW.{column} <> OLD.{column} AND NOT ({allowed}))"
        )
        refusal = f"{self.table}.{column} has no such transition"
        return [refusing_trigger(f"{self.table}_{column}_moves", event, refusal)]


_registered: list[TriggerRule] = []  # of all apps


def create_after_migrate(app: AppConfig, rules: Iterable[TriggerRule]) -> None:
    """Create an app's triggers whenever its migrations have run. SQLite's are dropped before they run."""
    _registered.extend(rules)

    def drop_triggers(using: str, plan: Sequence[Any], **_: Any) -> None:
        if plan and connections[using].vendor == "sqlite":
            drop_all(connections[using])

    def create_triggers(using: str, **_: Any) -> None:
        create_missing(rules, connections[using])

    # A weak reference would be lost at once.
    pre_migrate.connect(drop_triggers, sender=app, weak=False)
    post_migrate.connect(create_triggers, sender=app, weak=False)


def drop_all(connection: BaseDatabaseWrapper) -> None:
    """Drop the triggers of a database of SQLite."""
    names = _existing(connection)
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"DROP TRIGGER {connection.ops.quote_name(name)}")


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the names of triggers that don't exist in the database, or are disabled there."""
    firing = _names(connection, _FIRING)
    return [name for rule in _registered for name in _statements(rule, connection) if name not in firing]


def create_missing(rules: Iterable[TriggerRule], connection: BaseDatabaseWrapper) -> None:
    """Create the triggers that are missing, except those on tables and columns that a later migration adds."""
    existing = _existing(connection)
    for rule in rules:
        wanted = _statements(rule, connection).items()
        new = [statements for name, statements in wanted if name not in existing]
        if new and _has_columns(rule, connection):
            with connection.cursor() as cursor:
                for statement in chain.from_iterable(new):
                    cursor.execute(statement)


def _statements(rule: TriggerRule, connection: BaseDatabaseWrapper) -> dict[str, tuple[str, ...]]:
    """Return the statements of a rule's triggers on this database, by trigger name."""
    found = {trigger.name: getattr(trigger, connection.vendor) for trigger in rule.triggers()}
    return {name: statements for name, statements in found.items() if statements}


_EXISTING = {
    "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
}
# Neither disabled nor only for replicated rows.
_FIRING = _EXISTING | {"postgresql": f"{_EXISTING['postgresql']} AND tgenabled IN ('O', 'A')"}


def _existing(connection: BaseDatabaseWrapper) -> set[str]:
    return _names(connection, _EXISTING)


def _names(connection: BaseDatabaseWrapper, queries: Mapping[str, str]) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(queries[connection.vendor])
        return {name for (name,) in cursor.fetchall()}


def _has_columns(rule: TriggerRule, connection: BaseDatabaseWrapper) -> bool:
    """Return whether the table and columns that a rule names exist: the database may be migrated in part only."""
    table = getattr(rule, "table", None)
    if table is None:
        return True
    named = {getattr(rule, "column", ""), *getattr(rule, "columns", ())} - {""}
    with connection.cursor() as cursor:
        if table not in connection.introspection.table_names(cursor):
            return False
        # Django's introspection of columns would parse the statement that created a table of SQLite.
        cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)} LIMIT 0")  # noqa: S608  (a table of ours)
        return {name for name, *_ in cursor.description} >= named
