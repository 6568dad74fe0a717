"""Rules for migrations that run while the previous release is still serving."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.models import CheckConstraint, Index, Q, UniqueConstraint
from django.db.models.functions import Random

from config.checks import migrations as migration_rules
from kit.db import migration_operations
from webhooks.models import Delivery

STATE = MigrationLoader(None).project_state([("webhooks", migration_rules.BASELINE["webhooks"])])

LATEST = MigrationLoader(None).project_state()


def migration_of(*operations, atomic=True, **attributes):
    made = migrations.Migration("0099_later", "webhooks")
    made.operations, made.atomic = list(operations), atomic
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def complaints_about(*operations, atomic=True, **attributes):
    """Return the names of the rules that a migration of `webhooks` violates."""
    found = migration_rules.unsafe([(migration_of(*operations, atomic=atomic, **attributes), STATE.clone())])
    return {line.split(": ")[1].split(".")[0] for line in found}


def do_something(_apps, _schema_editor):
    """Represents the data migration of a `RunPython`."""


EVENT_INDEX = Index(fields=["event"], name="by_event")
OTHER_INDEX = Index(fields=["state", "event"], name="by_state_and_event")
TRIED = CheckConstraint(condition=Q(attempts_made__lte=8), name="at_most_eight")

UNSAFE = {
    "a column that every row is written anew for": (
        migrations.AddField("delivery", "colour", models.FloatField(db_default=Random())),
        "adding-field-with-default",
    ),
    "a column that the old code does not name": (
        migrations.AddField("delivery", "colour", models.IntegerField(default=3)),
        "ban-drop-default",
    ),
    "an empty text that the old code does not name": (
        migrations.AddField("delivery", "colour", models.CharField(blank=True, max_length=9)),
        "ban-drop-default",
    ),
    "a column that may not be empty any more": (
        migrations.AlterField("delivery", "subject", models.UUIDField(unique=True)),
        "adding-not-nullable-field",
    ),
    "a column dropped": (migrations.RemoveField("delivery", "held_at"), "ban-drop-column"),
    "a column renamed": (migrations.RenameField("delivery", "event", "kind"), "renaming-column"),
    "a table dropped": (migrations.DeleteModel("Attempt"), "ban-drop-table"),
    "a table renamed": (migrations.RenameModel("Attempt", "Try"), "renaming-table"),
    "another type": (
        migrations.AlterField("attempt", "number", models.TextField()),
        "changing-column-type",
    ),
    "an index that keeps everybody from writing": (
        migrations.AddIndex("delivery", EVENT_INDEX),
        "require-concurrent-index-creation",
    ),
    "a rule that every row is read for": (
        migrations.AddConstraint("delivery", TRIED),
        "constraint-missing-not-valid",
    ),
    "a unique rule": (
        migrations.AddConstraint("delivery", UniqueConstraint(fields=["event"], name="one_each")),
        "disallowed-unique-constraint",
    ),
    "rows that no way leads back from": (migrations.RunPython(do_something), "irreversible"),
    "statements that no way leads back from": (migrations.RunSQL("SELECT 1"), "irreversible"),
    "statements of its own": (
        migrations.RunSQL("ALTER TABLE webhooks_attempt ADD COLUMN colour integer NOT NULL", "SELECT 1"),
        "adding-required-field",
    ),
    "a column that only the database fills": (
        migrations.AddField("delivery", "colour", models.IntegerField(db_default=3)),
        "db-default-alone",
    ),
    "a longer text": (
        migrations.AlterField("delivery", "event", models.CharField(max_length=40)),
        "changing-column-type",
    ),
    "no PostgreSQL": (migrations.RunSQL("SELEC 1", "SELECT 1"), "syntax-error"),
}

SAFE = {
    "a column that the database fills": migrations.AddField(
        "delivery", "colour", models.CharField(max_length=9, default="", db_default="")
    ),
    "a column that may be empty": migrations.AddField("delivery", "colour", models.IntegerField(null=True)),
    "a table": migrations.CreateModel(
        "Colour",
        [
            ("id", models.BigAutoField(primary_key=True)),
            ("name", models.CharField(max_length=9, unique=True)),
        ],
    ),
    "no index any more": migrations.RemoveIndex("delivery", "deliveries_finished"),
    "a rule for new rows": migration_operations.AddConstraintNotValid("delivery", TRIED),
    "rows, and back": migrations.RunPython(do_something, migrations.RunPython.noop),
}


class TestRules:
    @pytest.mark.parametrize(("operation", "rule"), UNSAFE.values(), ids=UNSAFE)
    def test_find_unsafe_operations(self, operation, rule):
        assert rule in complaints_about(operation)

    @pytest.mark.parametrize("operation", SAFE.values(), ids=SAFE)
    def test_accept_safe_operations(self, operation):
        assert complaints_about(operation) == set()

    def test_accept_building_an_index_concurrently(self):
        index = migration_operations.AddIndexConcurrently("delivery", EVENT_INDEX)

        assert complaints_about(index, atomic=False) == set()
        assert complaints_about(index) == {"ban-concurrent-index-creation-in-transaction"}

    def test_accept_an_operation_with_a_reason(self):
        operation = migrations.RemoveField("delivery", "held_at")

        assert complaints_about(operation, safe_because={"renaming-column": "?"}) == {"ban-drop-column"}
        assert complaints_about(operation, safe_because={"ban-drop-column": "Unread since 1.4."}) == set()

    def test_say_what_to_do_instead(self):
        [complaint] = migration_rules.unsafe(
            [(migration_of(migrations.DeleteModel("Attempt")), STATE.clone())]
        )

        assert complaint == (
            "webhooks.0099_later: ban-drop-table. The old code reads it. Drop it a release later."
        )


FINISHED = next(index for index in Delivery._meta.indexes if index.name == "deliveries_finished")


@pytest.fixture
def later_migration(monkeypatch):
    """Add a migration after the last one of `webhooks`. It rebuilds an index while it holds a lock.

    The baseline is moved to those before it, which `make lint` checks.
    """
    load_disk = MigrationLoader.load_disk
    leaves = MigrationLoader(None).graph.leaf_nodes()
    later = migration_of(
        migrations.RemoveIndex("delivery", FINISHED.name),
        migrations.AddIndex("delivery", FINISHED),
        dependencies=[key for key in leaves if key[0] == "webhooks"],
    )

    def load(loader):
        load_disk(loader)
        loader.disk_migrations["webhooks", later.name] = later

    monkeypatch.setattr(MigrationLoader, "load_disk", load)
    monkeypatch.setattr(migration_rules, "BASELINE", dict(leaves))


class TestLint:
    @pytest.mark.long
    @pytest.mark.django_db
    @pytest.mark.usefixtures("later_migration")
    def test_fails_for_an_unsafe_migration_after_the_baseline(self):
        with pytest.raises(CommandError, match=r"webhooks\.0099_later: require-concurrent"):
            call_command("check_project")

    def test_names_a_baseline_that_exists(self):
        known = MigrationLoader(None).disk_migrations

        assert all(key in known for key in migration_rules.BASELINE.items())

    def test_has_a_baseline_for_each_app(self):
        ours = {
            key[0] for key, migration in MigrationLoader(None).disk_migrations.items() if migration.replaces
        }

        assert set(migration_rules.BASELINE) >= ours


class TestExpanding:
    """The operations themselves, on the current database."""

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize(
        "operations",
        [
            [migration_operations.AddIndexConcurrently("delivery", EVENT_INDEX)],
            [
                migration_operations.AddIndexConcurrently("delivery", EVENT_INDEX),
                migration_operations.AddIndexConcurrently("delivery", OTHER_INDEX),
                migration_operations.RemoveIndexConcurrently("delivery", EVENT_INDEX.name),
            ],
            [
                migration_operations.AddConstraintNotValid("delivery", TRIED),
                migration_operations.ValidateConstraint("delivery", "at_most_eight"),
            ],
        ],
        ids=["index", "index removed", "constraint"],
    )
    def test_applies_and_reverses(self, operations):
        migration = migration_of(*operations, atomic=False)
        before = constraints()

        with connection.schema_editor(atomic=False) as editor:
            migration.apply(LATEST.clone(), editor)
        assert constraints() > before
        with connection.schema_editor(atomic=False) as editor:
            migration.unapply(LATEST.clone(), editor)

        assert constraints() == before

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("operation", ["AddPostgreSQLIndex", "AddPostgreSQLIndexConcurrently"])
    def test_builds_an_index_that_only_postgresql_has(self, operation):
        add_index = getattr(migration_operations, operation)(
            name="events_in_blocks", table="webhooks_delivery", definition="USING brin (created_at)"
        )
        migration = migration_of(add_index, atomic=False)

        with connection.schema_editor(atomic=False) as editor:
            migration.apply(LATEST.clone(), editor)
        assert ("events_in_blocks" in constraints()) == (connection.vendor == "postgresql")
        with connection.schema_editor(atomic=False) as editor:
            migration.unapply(LATEST.clone(), editor)
        assert "events_in_blocks" not in constraints()


def constraints():
    with connection.cursor() as cursor:
        return set(connection.introspection.get_constraints(cursor, "webhooks_delivery"))
