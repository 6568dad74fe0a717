import pytest
from django.db import OperationalError, connection

from config.database import lock_timeout

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no such limit."),
]


@pytest.fixture(autouse=True)
def _reset(monkeypatch):
    monkeypatch.setattr(lock_timeout._brevity, "until", 0.0)
    yield
    monkeypatch.undo()
    lock_timeout.settle()


class Refused(Exception):
    def __init__(self, sqlstate):
        super().__init__()
        self.sqlstate = sqlstate


def end_with(sqlstate):
    error = OperationalError()
    error.__cause__ = Refused(sqlstate)
    lock_timeout.note(error)


def current_timeout():
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        return cursor.fetchone()[0]


class TestLockTimeout:
    def test_is_short_after_a_timeout_and_later_reset(self, api, monkeypatch):
        before = current_timeout()
        end_with("55P03")
        assert api.get("/api/banks").status_code == 200
        assert current_timeout() == lock_timeout.BRIEF

        monkeypatch.setattr(lock_timeout._brevity, "until", 0.0)  # some seconds later
        assert api.get("/api/banks").status_code == 200
        assert current_timeout() == before != lock_timeout.BRIEF

    def test_is_unchanged_where_sessions_are_shared(self, api, settings):
        settings.DATABASE_POOLING = "transaction"
        before = current_timeout()
        end_with("55P03")

        assert api.get("/api/banks").status_code == 200

        assert current_timeout() == before != lock_timeout.BRIEF

    def test_is_unchanged_after_other_errors(self, api):
        before = current_timeout()
        end_with("53300")
        lock_timeout.note(ValueError())
        assert api.get("/api/banks").status_code == 200
        assert current_timeout() == before
