"""Which migrations a database lacks, for `migrate`, `doctor` and `/readyz`.

Each app's `0001_initial` replaces migrations whose files are deleted; 0.1.0 has only some of them. Django has no way
forward for such a database: it drops the app from its plan without an error, or reports a missing dependency. So such
databases are detected here, before Django builds a plan.
"""

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


def partly_replaced(connection: BaseDatabaseWrapper) -> list[Migration]:
    """Return the migrations of which the database has some, but not all, that they replace."""
    applied = MigrationRecorder(connection).applied_migrations().keys()
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    return [
        migration
        for key, migration in sorted(loader.disk_migrations.items())
        # The first replaced migration had the name of its replacement.
        if applied & {key, *migration.replaces} and not applied >= set(migration.replaces)
    ]


def unapplied_migrations(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the migrations of this code that the database lacks, such as `payments.0001_initial`."""
    if partly := partly_replaced(connection):
        return [f"{migration.app_label}.{migration.name}" for migration in partly]
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]
