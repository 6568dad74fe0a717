"""Operations for migrations that run while the service answers: none holds a lock for as long as a table is large.

They are those that Django has for PostgreSQL. SQLite does not know them, and there each is its plain relative.
"""

from typing import Any

from django.contrib.postgres import operations
from django.db.migrations import AddConstraint, AddIndex, RemoveIndex, RunSQL


def _is_postgresql(schema_editor: Any) -> bool:
    return bool(schema_editor.connection.vendor == "postgresql")


class AddIndexConcurrently(operations.AddIndexConcurrently):
    """Build an index while rows are written. Its migration has `atomic = False`."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if _is_postgresql(schema_editor):
            # A build that was interrupted leaves an index of this name that serves nobody.
            leftover = schema_editor.quote_name(self.index.name)
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {leftover}", params=None)
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        else:
            AddIndex.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if _is_postgresql(schema_editor):
            super().database_backwards(app_label, schema_editor, from_state, to_state)
        else:
            AddIndex.database_backwards(self, app_label, schema_editor, from_state, to_state)


class RemoveIndexConcurrently(operations.RemoveIndexConcurrently):
    """Drop an index without blocking queries of its table. Its migration has `atomic = False`."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if _is_postgresql(schema_editor):
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        else:
            RemoveIndex.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if _is_postgresql(schema_editor):
            super().database_backwards(app_label, schema_editor, from_state, to_state)
        else:
            RemoveIndex.database_backwards(self, app_label, schema_editor, from_state, to_state)


class AddPostgreSQLIndexConcurrently(RunSQL):
    """Build an index of a kind that SQLite doesn't have. Its migration has `atomic = False`.

    The model doesn't name it, because a model's indexes are built on both databases.
    """

    def __init__(self, *, name: str, table: str, definition: str) -> None:
        self._arguments = {"name": name, "table": table, "definition": definition}
        super().__init__(
            # A build that was interrupted leaves an index of this name that serves no query.
            sql=[
                f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
                f"CREATE INDEX CONCURRENTLY {name} ON {table} {definition}",
            ],
            reverse_sql=f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
        )

    def deconstruct(self) -> Any:
        return self.__class__.__name__, [], self._arguments

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if _is_postgresql(schema_editor):
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if _is_postgresql(schema_editor):
            super().database_backwards(app_label, schema_editor, from_state, to_state)


class AddConstraintNotValid(operations.AddConstraintNotValid):
    """Hold new rows to a rule; `ValidateConstraint` in the next migration looks at those that are there."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if _is_postgresql(schema_editor):
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        else:
            AddConstraint.database_forwards(self, app_label, schema_editor, from_state, to_state)


class ValidateConstraint(operations.ValidateConstraint):
    """Look at the rows that were there before a rule, without keeping anybody from writing."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if _is_postgresql(schema_editor):
            super().database_forwards(app_label, schema_editor, from_state, to_state)
