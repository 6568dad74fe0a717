"""Check that migrations can run while the previous release is still serving: part of `make lint`.

Each migration after the baseline is rendered as PostgreSQL's SQL, without a server, and checked by squawk. Rules that
SQL doesn't show are checked on the operations. A migration that breaks a rule on purpose gives the reason:

    class Migration(migrations.Migration):
        safe_because = {"ban-drop-column": "No release since 1.4 reads or writes it."}
"""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db.backends.postgresql.schema import DatabaseSchemaEditor
from django.db.migrations import AddField, Migration, RunPython, RunSQL
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.utils import ConnectionHandler

from kit.files import bounded_json

# The last migration of each app that isn't checked. An initial migration runs only where the app has no tables yet.
# Move this with a release, never for a migration: an installation may already have run what is before it.
BASELINE = {
    "config": "0001_initial",
    "dashboard": "0001_initial",
    "disputes": "0001_initial",
    "ledger": "0001_initial",
    "merchants": "0001_initial",
    "payments": "0001_initial",
    "virtual_accounts": "0001_initial",
    "webhooks": "0001_initial",
}

RULES = {  # squawk's name: what to do instead
    "adding-field-with-default": "Every row would be rewritten: give the column a constant db_default.",
    "adding-not-nullable-field": "Add a constraint as NOT VALID, validate it in the next migration, then set NOT NULL.",
    "adding-required-field": "Give the column db_default: the old code does not set it.",
    "ban-concurrent-index-creation-in-transaction": "Give the migration atomic = False.",
    "ban-drop-column": "The old code reads it. Drop it from the database a release later.",
    "ban-drop-default": "The old code does not set the column: give it db_default instead of default.",
    "ban-drop-table": "The old code reads it. Drop it a release later.",
    "changing-column-type": "Add a column and write both. Even a longer varchar ends prepared statements with an error.",
    "constraint-missing-not-valid": "Use kit.db.migration_operations.AddConstraintNotValid, then ValidateConstraint.",
    "disallowed-unique-constraint": "Use kit.db.migration_operations.AddIndexConcurrently with a unique index.",
    "renaming-column": "Rename it only in Python (db_column).",
    "renaming-table": "Rename it only in Python (db_table).",
    "require-concurrent-index-creation": "Use kit.db.migration_operations.AddIndexConcurrently, and atomic = False.",
    "syntax-error": "PostgreSQL would not understand it.",
    # Our own rules, checked on the operations:
    "irreversible": "Add a reverse operation, which may be a noop.",
    "db-default-alone": "Give the field a default beside its db_default: kit.db.prepared_statements writes every column.",
}
POSTGRESQL = 15  # the oldest supported version


def complaints() -> list[str]:
    """Return the unsafe operations of our migrations after the baseline."""
    return unsafe(_new_migrations())


def _new_migrations() -> Iterator[tuple[Migration, ProjectState]]:
    """Yield each of our migrations after the baseline, with one state, which it must be applied to before the next one."""
    ours = {
        config.label for config in apps.get_app_configs() if Path(config.path).parent == settings.BASE_DIR
    }
    executor = MigrationExecutor(None)
    state = ProjectState(real_apps=executor.loader.unmigrated_apps)
    targets = executor.loader.graph.leaf_nodes()
    for migration, _ in executor.migration_plan(targets, clean_start=True):
        app, name = migration.app_label, migration.name
        if app in ours and name > BASELINE.get(app, ""):
            yield migration, state
        else:
            migration.mutate_state(state, preserve=False)


def unsafe(migrations: Iterable[tuple[Migration, ProjectState]]) -> list[str]:
    """Return the unsafe operations of migrations. Each is applied to the state that it is given with."""
    found: list[tuple[Migration, str]] = []
    with TemporaryDirectory() as folder:
        files: dict[str, Migration] = {}
        for migration, state in migrations:
            file = Path(folder, f"{migration.app_label}.{migration.name}.sql")
            file.write_text(sql_of(migration, state))
            files[str(file)] = migration
            found += [(migration, rule) for rule in map(_broken_by, migration.operations) if rule]
        found += [(files[file], rule) for file, rule in _squawk(files)]
    return [
        f"{migration.app_label}.{migration.name}: {rule}. {RULES[rule]}"
        for migration, rule in found
        if rule not in getattr(migration, "safe_because", {})
    ]


def sql_of(migration: Migration, state: ProjectState) -> str:
    """Apply a migration to a state, and return its SQL on PostgreSQL."""
    databases = ConnectionHandler({"default": {"ENGINE": "django.db.backends.postgresql"}})
    connection: Any = databases["default"]
    connection.__dict__["pg_version"] = POSTGRESQL * 10_000  # otherwise Django would query a server
    with _Written(connection, collect_sql=True, atomic=False) as editor:
        migration.apply(state, editor, collect_sql=True)
    statements = "\n".join(editor.collected_sql)
    return f"BEGIN;\n{statements}\nCOMMIT;\n" if migration.atomic else statements


class _Written(DatabaseSchemaEditor):
    """A schema editor that collects statements without a database."""

    def execute(self, sql: Any, params: Any = ()) -> None:
        values = [self.quote_value(value) for value in params or ()]
        self.collected_sql.append(f"{str(sql) % tuple(values) if values else sql};".replace(";;", ";"))

    def _constraint_names(self, *_: Any, **__: Any) -> list[str]:
        return ["constraint_of_that_table"]


def _broken_by(operation: Operation) -> str | None:
    """Return the rule that an operation breaks independently of its SQL."""
    if isinstance(operation, RunPython | RunSQL) and not operation.reversible:
        return "irreversible"
    if (
        isinstance(operation, AddField)
        and operation.field.has_db_default()
        and not operation.field.has_default()
    ):
        return "db-default-alone"
    return None


def _squawk(files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the file and rule of each of squawk's complaints."""
    names = list(files)
    if not names:
        return
    program = Path(sys.executable).with_name("squawk")
    if not program.exists():
        raise RuntimeError("squawk is not installed: make install")
    options = ["--reporter=json", f"--pg-version={POSTGRESQL}"]
    ran = subprocess.run([program, *options, *names], capture_output=True, text=True, check=False)
    if not ran.stdout.startswith("["):
        raise RuntimeError(f"squawk failed: {ran.stderr}")
    for one in bounded_json.loads(ran.stdout):
        if one["rule_name"] in RULES:
            yield one["file"], one["rule_name"]
