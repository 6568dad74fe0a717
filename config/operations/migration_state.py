"""Which migrations a database lacks, for `migrate`, `doctor` and `/readyz`.

Each app's `0001_initial` replaces the migrations from before 0.1.0, whose files are deleted. Django has no way forward
for a database that has only some of them: it drops the app from its plan without an error, or reports a missing
dependency. So such databases are detected here, before Django builds a plan.
"""

from dataclasses import dataclass
from functools import lru_cache

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


@dataclass(frozen=True, slots=True)
class PartialSquash:
    """An app of which a database has some, but not all, of the replaced migrations."""

    app: str
    last_applied: str
    missing: tuple[str, ...]

    @property
    def last_file(self) -> str:
        """Return the path of the last replaced migration, as in the commits that have it."""
        return f"{self.app}/migrations/{self.missing[-1]}.py"


def partial_squashes(connection: BaseDatabaseWrapper) -> list[PartialSquash]:
    """Return the apps in which the database is behind the last migration before the squash."""
    applied = MigrationRecorder(connection).applied_migrations()
    found = []
    for migration in _squashed_without_files():
        # The first replaced migration had the name of its replacement.
        before = [(migration.app_label, migration.name), *migration.replaces]
        done = [name for _, name in before if (migration.app_label, name) in applied]
        missing = [name for app, name in migration.replaces if (app, name) not in applied]
        if done and missing:
            found.append(PartialSquash(migration.app_label, done[-1], tuple(missing)))
    return found


def unapplied_migrations(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the migrations of this code that the database lacks, such as `payments.0001_initial`."""
    if partial := partial_squashes(connection):
        return [f"{squash.app}.{name}" for squash in partial for name in squash.missing]
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


@lru_cache(maxsize=1)
def migration_names() -> frozenset[str]:
    """Return the names of all migrations that `unapplied_migrations` can return."""
    return frozenset(
        f"{app}.{name}" for key, migration in _on_disk().items() for app, name in (key, *migration.replaces)
    )


def _squashed_without_files() -> list[Migration]:
    on_disk = _on_disk()
    return [
        migration
        for _, migration in sorted(on_disk.items())
        if any(replaced not in on_disk for replaced in migration.replaces)
    ]


def _on_disk() -> dict[tuple[str, str], Migration]:
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    return loader.disk_migrations
