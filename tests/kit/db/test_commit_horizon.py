from datetime import timedelta

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from kit.db.rows.commit_horizon import LONGEST_WAIT, MARGIN, ON_SQLITE, commit_horizon

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def other():
    """Another session of the same database."""
    named = ("dbname", "user", "password", "host", "port")
    where = {name: value for name, value in connection.get_connection_params().items() if name in named}
    with psycopg.connect(**where) as session:
        yield session


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL knows its open transactions")
def test_waits_for_a_writer_on_sqlite():
    now = timezone.now()

    assert commit_horizon(now=now) == now - ON_SQLITE


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer")
class TestOnPostgreSQL:
    def test_is_close_to_now_without_writers(self, other):
        other.execute("SELECT 1")  # a transaction that only reads
        now = timezone.now()

        assert commit_horizon(now=now + timedelta(seconds=5)) == now + timedelta(seconds=5) - MARGIN

    def test_stays_before_an_open_writer(self, other):
        started = other.execute("SELECT pg_current_xact_id(), now()").fetchone()[1]
        now = started + timedelta(seconds=30)

        assert commit_horizon(now=now) == started - MARGIN
        assert commit_horizon(now=now + timedelta(hours=1)) == now + timedelta(hours=1) - LONGEST_WAIT

        other.rollback()
        assert commit_horizon(now=now) == now - MARGIN
