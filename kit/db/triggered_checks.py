"""Check constraints of tables that each payment writes."""

import re
from typing import Any, ClassVar

from django.apps import apps
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql import Query

from kit.db import postgresql

# PostgreSQL fires triggers by name. A CHECK comes after those of `kit.db.triggers`, whose names begin with the table's.
_AFTER_OTHERS = "written_"


class TriggeredCheck(models.CheckConstraint):
    """A check constraint that PostgreSQL enforces by a trigger.

    PostgreSQL reads and plans all CHECK constraints of a table anew in each statement that writes to it, whichever columns
    it sets: more than half of the CPU of a card payment. The function of a trigger is kept for the session, and runs only if
    one of its columns is set. The error is the same. SQLite has the CHECK.
    """

    def __eq__(self, other: object) -> bool:
        """Differ from a CHECK, so that `makemigrations` sees that one replaces the other."""
        return isinstance(other, TriggeredCheck) and super().__eq__(other)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # as Django's constraints

    def constraint_sql(self, model: Any, schema_editor: Any) -> Any:
        if not postgresql.is_used_by(schema_editor):
            return super().constraint_sql(model, schema_editor)
        schema_editor.deferred_sql.append(self.create_sql(model, schema_editor))  # the table comes first
        return None

    def create_sql(self, model: Any, schema_editor: Any) -> Any:
        if not postgresql.is_used_by(schema_editor):
            return super().create_sql(model, schema_editor)
        table, name, trigger = self._names(model, schema_editor)
        condition = self._condition_of_new_row(model, schema_editor)
        columns = ", ".join(sorted(set(re.findall(r'NEW\.("[^"]+")', condition))))
        message = f"new row for relation {table} violates check constraint {name}"
        return (
            f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NOT ({condition}) THEN "
            f"RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = '{message}', "
            f"TABLE = '{model._meta.db_table}', CONSTRAINT = '{self.name}'; END IF; RETURN NEW; END $$; "
            f"CREATE TRIGGER {trigger} BEFORE INSERT OR UPDATE OF {columns} ON {table} "
            f"FOR EACH ROW EXECUTE FUNCTION {name}()"
        )

    def remove_sql(self, model: Any, schema_editor: Any) -> Any:
        if not postgresql.is_used_by(schema_editor):
            return super().remove_sql(model, schema_editor)
        table, name, trigger = self._names(model, schema_editor)
        return f"DROP TRIGGER {trigger} ON {table}; DROP FUNCTION {name}()"

    def _names(self, model: Any, schema_editor: Any) -> list[str]:
        """Return the names of the table, of the constraint and its function, and of the trigger, quoted."""
        names = (model._meta.db_table, self.name, f"{_AFTER_OTHERS}{self.name}")
        return [schema_editor.quote_name(each) for each in names]

    def _condition_of_new_row(self, model: Any, schema_editor: Any) -> str:
        """Return the condition as SQL about the row NEW. A null condition holds, as in a CHECK."""
        query: Any = Query(model=model)
        where = query.build_where(self.condition)
        sql, parameters = where.as_sql(
            query.get_compiler(connection=schema_editor.connection), schema_editor.connection
        )
        table = schema_editor.quote_name(model._meta.db_table)
        return str(sql % tuple(map(schema_editor.quote_value, parameters))).replace(f"{table}.", "NEW.")


def trigger_names(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the names of the checks' triggers. SQLite has none."""
    if connection.vendor != "postgresql":
        return []
    constraints = [each for model in apps.get_models() for each in model._meta.constraints]
    return [f"{_AFTER_OTHERS}{each.name}" for each in constraints if isinstance(each, TriggeredCheck)]
