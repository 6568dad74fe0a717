"""Create all tables of a new database at once, for `migrate`.

Applying the migrations in turn renders the models hundreds of times, which takes half a minute of CPU, for tables without
rows. Instead, a new database gets the tables of the state after the last migration, and then what migrations do beside
that state: `RunSQL` and `RunPython`, unless they are `elidable`, as Django calls those that only matter to older databases.
`tests/journeys/test_new_database.py` compares the two ways.
"""

from collections.abc import Iterable, Iterator

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import RunPython, RunSQL, SeparateDatabaseAndState
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations.base import Operation
from django.db.migrations.recorder import MigrationRecorder


def is_new(connection: BaseDatabaseWrapper) -> bool:
    """Return whether no migration was ever applied to the database."""
    return not MigrationRecorder(connection).applied_migrations()


def create_tables(connection: BaseDatabaseWrapper) -> None:
    """Create the tables of all migrations and record these as applied, in one transaction."""
    executor = MigrationExecutor(connection)
    migrations = [migration for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())]
    state = executor.loader.project_state()
    with connection.schema_editor(atomic=True) as editor:
        for model in state.apps.get_models():
            if model._meta.can_migrate(connection):
                editor.create_model(model)
        for migration in migrations:
            for operation in _beside_the_state(migration.operations):
                operation.database_forwards(migration.app_label, editor, state, state)
        executor.recorder.ensure_schema()
        for migration in migrations:
            for app, name in migration.replaces or [(migration.app_label, migration.name)]:
                executor.recorder.record_applied(app, name)


def _beside_the_state(operations: Iterable[Operation]) -> Iterator[Operation]:
    for operation in operations:
        if isinstance(operation, SeparateDatabaseAndState):
            yield from _beside_the_state(operation.database_operations)
        elif isinstance(operation, RunSQL | RunPython) and not operation.elidable:
            yield operation
