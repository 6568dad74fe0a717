"""Times that decide about money come from the database's clock, independent of the host's clock."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone

from kit.db import clock

pytestmark = pytest.mark.django_db

AHEAD = timedelta(seconds=11)


@pytest.fixture(autouse=True)
def _real_estimate(_one_clock, monkeypatch):
    monkeypatch.undo()


@pytest.fixture
def host_ahead(monkeypatch):
    """This host's wall clock is 11 seconds ahead."""
    monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + AHEAD)


def tolerance():
    return timedelta(seconds=2)  # a busy machine


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has the clock of its process")
class TestPostgreSQL:
    @pytest.mark.parametrize("read", [clock.database_now, clock.now, clock.Estimate().now])
    def test_host_ahead_of_the_database_uses_the_databases_time(self, host_ahead, read):
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            database_time = cursor.fetchone()[0]

        assert abs(read() - database_time) < tolerance()

    def test_estimate_is_cached_for_a_while(self, django_assert_num_queries):
        estimate = clock.Estimate()

        with django_assert_num_queries(1):
            moments = [estimate.now() for _ in range(100)]

        assert moments == sorted(moments)

    def test_estimate_is_refreshed_when_it_expires(self, monkeypatch, django_assert_num_queries):
        estimate = clock.Estimate()
        estimate.now()
        monkeypatch.setattr(clock, "MEASURED_FOR", -1.0)

        with django_assert_num_queries(1):
            estimate.now()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has a clock of its own")
@pytest.mark.parametrize("read", [clock.database_now, clock.now])
def test_sqlite_uses_the_clock_of_the_process(host_ahead, read):
    assert abs(read() - timezone.now()) < tolerance()
