"""`manage.py migrate` beside a running service: who waits for a lock gives way, and tries again."""

import pytest
from django.core.management import call_command
from django.core.management.commands import migrate as djangos
from django.db import OperationalError, connection
from psycopg import errors

from config.management.commands import migrate


def refusal(cause):
    problem = OperationalError("canceling statement due to lock timeout")
    problem.__cause__ = cause
    return problem


@pytest.fixture
def tries(monkeypatch):
    """What Django's own command is to meet, one after the other; and without pauses."""
    meets, made = [], []

    def handle(_command, *_, **__):
        made.append(timeouts())
        if meets and (problem := meets.pop(0)):
            raise problem

    monkeypatch.setattr(djangos.Command, "handle", handle)
    monkeypatch.setattr(migrate, "PAUSE", 0)
    return meets, made


def timeouts():
    """Return how long PostgreSQL lets this connection wait for a lock, and a statement run."""
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout'), current_setting('statement_timeout')")
        return cursor.fetchone()


@pytest.mark.django_db(transaction=True)
class TestMigrate:
    def test_tries_again_until_the_lock_is_free(self, tries):
        meets, made = tries
        meets += [refusal(errors.LockNotAvailable()), refusal(errors.LockNotAvailable())]

        call_command("migrate", verbosity=0)

        assert len(made) == 3

    def test_gives_up_in_the_end(self, tries, monkeypatch):
        meets, made = tries
        monkeypatch.setattr(migrate, "TRIES", 2)
        meets += [refusal(errors.LockNotAvailable()) for _ in range(3)]

        with pytest.raises(OperationalError):
            call_command("migrate", verbosity=0)

        assert len(made) == 2

    def test_repeats_nothing_else(self, tries):
        meets, made = tries
        meets.append(refusal(errors.AdminShutdown()))

        with pytest.raises(OperationalError):
            call_command("migrate", verbosity=0)

        assert len(made) == 1

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no such limits.")
    def test_waits_briefly_and_lets_statements_take_their_time(self, tries):
        _, made = tries
        before = timeouts()

        call_command("migrate", verbosity=0)

        assert made == [("500ms", "0")]
        assert timeouts() == before != made[0]
