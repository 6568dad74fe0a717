"""`manage.py migrate` beside a running service, and on databases from before the squash."""

from threading import Event

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.core.management.commands import migrate as djangos
from django.db import OperationalError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from psycopg import errors

from config.database import migration_state
from config.management.commands import migrate
from operations import health


def refusal(cause):
    problem = OperationalError("canceling statement due to lock timeout")
    problem.__cause__ = cause
    return problem


@pytest.fixture
def tries(monkeypatch):
    """Return the results of Django's command for successive tries, without pauses between them."""
    meets, made = [], []

    def handle(_command, *_, **__):
        made.append(timeouts())
        if meets and (problem := meets.pop(0)):
            raise problem

    monkeypatch.setattr(djangos.Command, "handle", handle)
    monkeypatch.setattr(migrate, "PAUSE", 0)
    return meets, made


def timeouts():
    """Return the lock and statement time-outs of this connection."""
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout'), current_setting('statement_timeout')")
        return cursor.fetchone()


@pytest.mark.django_db(transaction=True)
class TestMigrate:
    def test_retries_until_the_lock_is_free(self, tries):
        meets, made = tries
        meets += [refusal(errors.LockNotAvailable()), refusal(errors.LockNotAvailable())]

        call_command("migrate", verbosity=0)

        assert len(made) == 3

    def test_refuses_a_shared_session(self, tries, settings):
        _meets, made = tries
        settings.DATABASE_POOLING = "transaction"

        with pytest.raises(
            CommandError, match="DATABASE_POOLING=session and the DATABASE_URL of PostgreSQL itself"
        ):
            call_command("migrate", verbosity=0)

        assert made == []

    def test_gives_up_after_the_last_try(self, tries, monkeypatch):
        meets, made = tries
        monkeypatch.setattr(migrate, "TRIES", 2)
        meets += [refusal(errors.LockNotAvailable()) for _ in range(3)]

        with pytest.raises(OperationalError):
            call_command("migrate", verbosity=0)

        assert len(made) == 2

    def test_does_not_retry_other_errors(self, tries):
        meets, made = tries
        meets.append(refusal(errors.AdminShutdown()))

        with pytest.raises(OperationalError):
            call_command("migrate", verbosity=0)

        assert len(made) == 1

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no such limits.")
    def test_waits_briefly_for_locks_and_does_not_limit_statements(self, tries):
        _, made = tries
        before = timeouts()

        call_command("migrate", verbosity=0)

        assert made == [("500ms", "0")]
        assert timeouts() == before != made[0]

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no advisory locks.")
    def test_lets_one_process_migrate_at_a_time(self, tries, monkeypatch):
        _, made = tries
        monkeypatch.setattr(migrate, "TRIES", 2)
        names = ("dbname", "user", "password", "host", "port")
        where = {name: value for name, value in connection.get_connection_params().items() if name in names}

        with psycopg.connect(**where) as other:
            other.execute("SELECT pg_advisory_lock(%s)", [migrate.MIGRATES])
            with pytest.raises(OperationalError, match="Another process migrates"):
                call_command("migrate", verbosity=0)

        assert made == []
        call_command("migrate", verbosity=0)
        assert len(made) == 1


APPS = ["config", "dashboard", "ledger", "merchants", "payments", "virtual_accounts", "webhooks"]
REPLACED = [
    (app, name)
    for (app, _), migration in MigrationLoader(None).disk_migrations.items()
    for _, name in migration.replaces
    if app in APPS
]
# Apps that had an `0001_initial` before it replaced the others.
SEVERAL = ["ledger", "merchants", "payments", "virtual_accounts", "webhooks"]


def last_replaced(app):
    return max(name for of, name in REPLACED if of == app)


def remove_rows(app, name):
    assert MigrationRecorder.Migration.objects.filter(app=app, name=name).delete()[0] == 1


def recorded():
    return set(MigrationRecorder.Migration.objects.values_list("pk", "app", "name", "applied"))


@pytest.mark.django_db
class TestSquash:
    """One initial migration per app replaces those of 0.1.0 and of the commits after it."""

    def test_has_one_migration_per_app(self):
        ours = {key for key in MigrationLoader(None).disk_migrations if key[0] in APPS}

        assert {(app, "0001_initial") for app in APPS} <= ours
        assert len(REPLACED) == 46
        assert not ours & set(REPLACED)

    def test_records_the_replaced_migrations_in_a_new_database(self):
        assert set(REPLACED) <= {(app, name) for _, app, name, _ in recorded()}
        assert migration_state.partly_replaced(connection) == []

    def test_migrates_a_database_at_the_last_replaced_migration(self):
        for app in APPS:
            if app not in SEVERAL:
                remove_rows(app, "0001_initial")
        before = recorded()

        call_command("migrate", verbosity=0)

        added = {(app, name) for _, app, name, _ in recorded() - before}
        assert added == {("config", "0001_initial"), ("dashboard", "0001_initial")}
        assert before < recorded()

    @pytest.mark.parametrize("app", SEVERAL)
    def test_rejects_a_database_behind_it(self, app, monkeypatch):
        monkeypatch.setattr(djangos.Command, "handle", fail)
        last = last_replaced(app)
        remove_rows(app, last)
        before = recorded()

        with pytest.raises(CommandError, match=rf"behind {app}\.{last},") as refused:
            call_command("migrate", verbosity=0)

        assert refused.value.returncode == 1
        assert f"SANDBOX_DATA={settings.SANDBOX_FOLDER.path} .venv/bin/python manage.py" in str(refused.value)
        assert recorded() == before

    def test_rejects_a_database_at_the_first_migration(self, monkeypatch):
        monkeypatch.setattr(djangos.Command, "handle", fail)
        for app, name in REPLACED:
            if app in SEVERAL:
                remove_rows(app, name)

        with pytest.raises(CommandError, match=r"is behind ledger\.0"):
            call_command("migrate", "webhooks", verbosity=0)

    def test_applies_an_app_that_is_new_to_the_database(self):
        names = {name for app, name in MigrationLoader(None).disk_migrations if app == "dashboard"}
        for name in {*names, "0001_password_reset_requests"}:
            remove_rows("dashboard", name)

        unapplied = migration_state.unapplied_migrations(connection)
        assert set(unapplied) == {f"dashboard.{name}" for name in names}

    @pytest.mark.parametrize("app", SEVERAL)
    def test_keeps_a_process_unready_behind_it(self, app, monkeypatch):
        """Django alone would plan nothing for such an app, and report no missing migrations."""
        monkeypatch.setattr(health, "_migrated", Event())
        remove_rows(app, last_replaced(app))

        assert not health.has_migrated()
        assert migration_state.unapplied_migrations(connection) == [f"{app}.0001_initial"]


def fail(*_args, **_options):
    raise AssertionError("Django's command ran.")
