"""Migration operations that don't block a running service: none holds a lock for the time of a table scan.

They use Django's operations for PostgreSQL. On SQLite, each runs its blocking counterpart.
"""

from typing import Any, ClassVar

from django.contrib.postgres import operations
from django.db.migrations import AddConstraint, AddIndex, AlterField, RemoveIndex, RunSQL
from django.db.migrations.operations.base import Operation

from kit.db import postgresql


class OnPostgreSQL(Operation):
    """An operation for PostgreSQL, with a replacement for other databases."""

    elsewhere: ClassVar[type[Operation] | None] = None  # None: no operation

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if postgresql.is_used_by(schema_editor):
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        elif self.elsewhere is not None:
            self.elsewhere.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if postgresql.is_used_by(schema_editor):
            super().database_backwards(app_label, schema_editor, from_state, to_state)
        elif self.elsewhere is not None:
            self.elsewhere.database_backwards(self, app_label, schema_editor, from_state, to_state)


class AddIndexConcurrently(OnPostgreSQL, operations.AddIndexConcurrently):
    """Build an index while rows are written. Its migration has `atomic = False`."""

    elsewhere = AddIndex

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if postgresql.is_used_by(schema_editor):
            # An interrupted build leaves an invalid index of this name.
            leftover = schema_editor.quote_name(self.index.name)
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {leftover}", params=None)
        super().database_forwards(app_label, schema_editor, from_state, to_state)


class AddUniqueConstraintConcurrently(OnPostgreSQL, AddConstraint):
    """Build the index of a unique constraint with a condition while rows are written.

    Its migration has `atomic = False`.
    """

    elsewhere = AddConstraint

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if not postgresql.is_used_by(schema_editor):
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        statement: Any = self.constraint.create_sql(model, schema_editor)
        # An interrupted build leaves an invalid index of this name.
        leftover = schema_editor.quote_name(self.constraint.name)
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {leftover}", params=None)
        statement.template = statement.template.replace(
            "CREATE UNIQUE INDEX", "CREATE UNIQUE INDEX CONCURRENTLY", 1
        )
        schema_editor.execute(statement, params=None)


class RemoveIndexConcurrently(OnPostgreSQL, operations.RemoveIndexConcurrently):
    """Drop an index without blocking queries of its table. Its migration has `atomic = False`."""

    elsewhere = RemoveIndex


class AlterForeignKey(AlterField):
    """Alter the column of a foreign key. Django's operation would also drop the key, and check all rows to add it again."""

    statement: ClassVar[
        str
    ]  # with the names of the table, the column, and its unique constraint as PostgreSQL names it

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if not postgresql.is_used_by(schema_editor):
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        options = to_state.apps.get_model(app_label, self.model_name)._meta
        table, column = options.db_table, options.get_field(self.name).column
        names = {"table": table, "column": column, "constraint": f"{table}_{column}_key"}
        quoted = {name: schema_editor.quote_name(value) for name, value in names.items()}
        schema_editor.execute(self.statement.format(**quoted), params=None)


class AllowNull(AlterForeignKey):
    """Let a foreign key be null."""

    statement = "ALTER TABLE {table} ALTER COLUMN {column} DROP NOT NULL"


class AllowDuplicates(AlterForeignKey):
    """Drop the unique constraint of a foreign key."""

    statement = "ALTER TABLE {table} DROP CONSTRAINT {constraint}"

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        AlterField.database_forwards(self, app_label, schema_editor, from_state, to_state)


class RunPostgreSQL(OnPostgreSQL, RunSQL):
    """Run SQL on PostgreSQL only.

    A transaction, such as the one that creates a new database's tables, allows no `CONCURRENTLY`: it is left out.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        forwards = super().database_forwards
        if postgresql.is_used_by(schema_editor) and schema_editor.atomic_migration:
            statements = [self.sql] if isinstance(self.sql, str) else map(str, self.sql)
            forwards = RunSQL([each.replace(" CONCURRENTLY", "") for each in statements]).database_forwards
        forwards(app_label, schema_editor, from_state, to_state)


class AddPostgreSQLIndex(RunPostgreSQL):
    """Build an index of a kind that SQLite doesn't have, on a table of the same migration.

    The model doesn't name it, because a model's indexes are built on both databases.
    """

    concurrently = ""

    def __init__(self, *, name: str, table: str, definition: str) -> None:
        self._arguments = {"name": name, "table": table, "definition": definition}
        drop = f"DROP INDEX {self.concurrently} IF EXISTS {name}"
        create = f"CREATE INDEX {self.concurrently} {name} ON {table} {definition}"
        # An interrupted concurrent build leaves an invalid index of this name.
        super().__init__(sql=[drop, create], reverse_sql=drop)

    def deconstruct(self) -> Any:
        return self.__class__.__name__, [], self._arguments


class AddPostgreSQLIndexConcurrently(AddPostgreSQLIndex):
    """Build such an index while rows are written. Its migration has `atomic = False`."""

    concurrently = "CONCURRENTLY"


class AddConstraintNotValid(OnPostgreSQL, operations.AddConstraintNotValid):
    """Enforce a constraint on new rows. `ValidateConstraint` in the next migration checks the existing ones."""

    elsewhere = AddConstraint


class ValidateConstraint(OnPostgreSQL, operations.ValidateConstraint):
    """Check rows that are older than a constraint, without blocking writes."""
