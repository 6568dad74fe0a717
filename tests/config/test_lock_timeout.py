import pytest
from django.db import OperationalError, connection

from config import lock_timeout as patience

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no such limit."),
]


@pytest.fixture(autouse=True)
def _calm(monkeypatch):
    monkeypatch.setattr(patience, "_impatient_until", 0.0)
    yield
    monkeypatch.undo()
    patience.settle()


class Refused(Exception):
    def __init__(self, sqlstate):
        super().__init__()
        self.sqlstate = sqlstate


def end_with(sqlstate):
    error = OperationalError()
    error.__cause__ = Refused(sqlstate)
    patience.note(error)


def lock_timeout():
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        return cursor.fetchone()[0]


class TestWait:
    def test_is_short_after_one_in_vain_and_as_before_when_all_is_calm(self, api, monkeypatch):
        before = lock_timeout()
        end_with("55P03")
        assert api.get("/api/banks").status_code == 200
        assert lock_timeout() == patience.BRIEF

        monkeypatch.setattr(patience, "_impatient_until", 0.0)  # some seconds later
        assert api.get("/api/banks").status_code == 200
        assert lock_timeout() == before != patience.BRIEF

    def test_stays_as_it_is_after_any_other_error(self, api):
        before = lock_timeout()
        end_with("53300")
        patience.note(ValueError())
        assert api.get("/api/banks").status_code == 200
        assert lock_timeout() == before
