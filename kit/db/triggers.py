"""Rules enforced by database triggers, on PostgreSQL and SQLite.

`append_only` refuses to change or delete rows. `final` allows a column to change only from one given value. `kept`
refuses changes of columns, `never_deleted` to delete rows, and `permanent_rows` does both. `kept_unless` refuses changes of a
column unless a query finds a row. `transitions` allows only the listed transitions of a column, and `sum_to_zero` only amounts
that balance.

Triggers are created after each `migrate` and not by migrations, because SQLite alters a table by recreating it,
which drops its triggers. It fails if a trigger of another table refers to it, so SQLite's are dropped before.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from django.apps import AppConfig
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.signals import post_migrate, pre_migrate

ITS_COLUMNS = "its_columns"  # in the names of triggers of `permanent_rows`


class Trigger(NamedTuple):
    """The statements that create a trigger, by database. Empty: the database has no such trigger.

    It is created once its table has the columns, and if it names no table, in any case.
    """

    name: str
    postgresql: tuple[str, ...]
    sqlite: tuple[str, ...]
    table: str = ""
    columns: tuple[str, ...] = ()


Rule: TypeAlias = Sequence[Trigger]  # the triggers that enforce it


def append_only(table: str) -> Rule:
    """Refuse every UPDATE and DELETE of a table's rows."""
    refusal = f"{table} is append-only"
    changed, deleted = (f"BEFORE {event} ON {table} FOR EACH ROW" for event in ("UPDATE", "DELETE"))
    return [
        refusing_trigger(f"{table}_no_update", changed, refusal, table),
        refusing_trigger(f"{table}_no_delete", deleted, refusal, table),
    ]


def final(table: str, column: str, *, unless: str) -> Rule:
    """Refuse to change a column unless it holds `unless`."""
    event = (
        f"BEFORE UPDATE OF {column} ON {table} FOR EACH ROW "
        f"WHEN (OLD.{column} <> '{unless}' AND NEW.{column} <> OLD.{column})"
    )
    return [
        refusing_trigger(f"{table}_{column}_is_final", event, f"{table}.{column} is final", table, column)
    ]


def kept(table: str, columns: Sequence[str], name: str = "") -> Rule:
    """Refuse every change of columns, from and to null too. `name` ends the trigger's name."""
    # Not `IS DISTINCT FROM`, which SQLite has only since 3.39.
    changed = " OR ".join(
        f"(NEW.{column} = OLD.{column}) IS NOT TRUE AND NOT (NEW.{column} IS NULL AND OLD.{column} IS NULL)"
        for column in columns
    )
    listed = ", ".join(columns)
    event = f"BEFORE UPDATE OF {listed} ON {table} FOR EACH ROW WHEN ({changed})"
    name = f"{table}_keeps_{name or columns[0]}"
    return [refusing_trigger(name, event, f"{table} keeps {listed}", table, *columns)]


def kept_unless(table: str, column: str, query: str) -> Rule:
    """Refuse changes of a column unless a query about OLD and NEW finds a row."""
    name, refusal = f"{table}_keeps_{column}", f"{table} keeps {column}"
    event = f"BEFORE UPDATE OF {column} ON {table} FOR EACH ROW"
    refused = f"NEW.{column} <> OLD.{column} AND NOT EXISTS ({query})"
    # A condition of PostgreSQL's triggers has no subqueries, so its function has them.
    function = (
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF {refused} THEN "
        f"RAISE EXCEPTION '{refusal}' USING ERRCODE = 'integrity_constraint_violation'; END IF; RETURN NEW; END $$"
    )
    trigger = f"CREATE TRIGGER {name} {event} EXECUTE FUNCTION {name}()"
    of_sqlite = refusing_trigger(name, f"{event} WHEN ({refused})", refusal, table, column)
    return [of_sqlite._replace(postgresql=(function, trigger))]


def never_deleted(table: str) -> Rule:
    """Refuse every DELETE of a table's rows."""
    event = f"BEFORE DELETE ON {table} FOR EACH ROW"
    return [refusing_trigger(f"{table}_no_delete", event, f"{table} keeps its rows", table)]


def permanent_rows(table: str, columns: tuple[str, ...]) -> Rule:
    """Refuse every DELETE of a table's rows, and every change of the given columns."""
    [undeleted] = never_deleted(table)
    return [undeleted._replace(columns=columns), *kept(table, columns, ITS_COLUMNS)]


def refusing_trigger(name: str, event: str, refusal: str, table: str = "", *columns: str) -> Trigger:
    """Return a trigger that raises the error `refusal` whenever it fires."""
    function = (
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"RAISE EXCEPTION '{refusal}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
    )
    return Trigger(
        name,
        postgresql=(function, f"CREATE TRIGGER {name} {event} EXECUTE FUNCTION {name}()"),
        sqlite=(f"CREATE TRIGGER {name} {event} BEGIN SELECT RAISE(ABORT, '{refusal}'); END",),
        table=table,
        columns=columns,
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


def sum_to_zero(table: str, column: str, refusal: str) -> Rule:
    """Refuse an INSERT whose amounts don't sum to zero for each value of a column. PostgreSQL only.

    SQLite's triggers see one row at a time.
    """
    name = f"{table}s_are_balanced"
    function = _SUMS_TO_ZERO.format(name=name, column=column, refusal=refusal)
    trigger = (
        f"CREATE TRIGGER {name} AFTER INSERT ON {table} "
        f"REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION {name}()"
    )
    return [Trigger(name, (function, trigger), sqlite=(), table=table, columns=(column,))]


def transitions(table: str, column: str, allowed: Mapping[str, Iterable[str]]) -> Rule:
    """Refuse changes of a column other than the given transitions from each value to others."""
    condition = " OR ".join(
        f"OLD.{column} = '{before}' AND NEW.{column} = '{after}'"
        for before, others in allowed.items()
        for after in others
    )
    event = (
        f"BEFORE UPDATE OF {column} ON {table} FOR EACH ROW "
        f"WHEN (NEW.{column} <> OLD.{column} AND NOT ({condition}))"
    )
    refusal = f"{table}.{column} has no such transition"
    return [refusing_trigger(f"{table}_{column}_moves", event, refusal, table, column)]


_registered: list[Trigger] = []  # of all apps


def create_after_migrate(app: AppConfig, rules: Iterable[Rule]) -> None:
    """Create an app's triggers whenever its migrations have run. SQLite's are dropped before they run."""
    triggers = list(chain.from_iterable(rules))
    _registered.extend(triggers)

    def drop_triggers(using: str, plan: Sequence[Any], **_: Any) -> None:
        if plan and connections[using].vendor == "sqlite":
            drop_all(connections[using])

    def create_triggers(using: str, **_: Any) -> None:
        create_missing(triggers, connections[using])

    # A weak reference would be lost at once.
    pre_migrate.connect(drop_triggers, sender=app, weak=False)
    post_migrate.connect(create_triggers, sender=app, weak=False)


def drop_all(connection: BaseDatabaseWrapper) -> None:
    """Drop the triggers of a database of SQLite."""
    names = _existing(connection)
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"DROP TRIGGER {connection.ops.quote_name(name)}")


def missing(connection: BaseDatabaseWrapper, *, further: Iterable[str]) -> list[str]:
    """Return the names of triggers, of apps and `further` ones, that don't exist in the database, or are disabled there."""
    of_apps = [each.name for each in _registered if _statements(each, connection)]
    firing = _names(connection, _FIRING)
    return [name for name in (*of_apps, *further) if name not in firing]


def create_missing(triggers: Iterable[Trigger], connection: BaseDatabaseWrapper) -> None:
    """Create the triggers that are missing, except those on tables and columns that a later migration adds."""
    existing = _existing(connection)
    for trigger in triggers:
        statements = _statements(trigger, connection)
        if statements and trigger.name not in existing and _has_columns(trigger, connection):
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)


def _statements(trigger: Trigger, connection: BaseDatabaseWrapper) -> tuple[str, ...]:
    """Return the statements that create a trigger on this database, none if it has no such trigger."""
    found: tuple[str, ...] = getattr(trigger, connection.vendor)
    return found


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


def _has_columns(trigger: Trigger, connection: BaseDatabaseWrapper) -> bool:
    """Return whether the table and columns that a trigger names exist: the database may be migrated in part only."""
    if not trigger.table:
        return True
    with connection.cursor() as cursor:
        if trigger.table not in connection.introspection.table_names(cursor):
            return False
        # Django's introspection of columns would parse the statement that created a table of SQLite.
        cursor.execute(f"SELECT * FROM {connection.ops.quote_name(trigger.table)} LIMIT 0")  # noqa: S608  (a table of ours)
        return {name for name, *_ in cursor.description} >= set(trigger.columns)
