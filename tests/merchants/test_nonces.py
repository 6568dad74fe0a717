"""The commit of a nonce: PostgreSQL doesn't wait for the disk, for this commit only."""

import pytest
from django.db import connection, transaction
from django.utils import timezone

from merchants.api import nonces
from merchants.models import ApiKey, Nonce
from tests.factories import BusinessFactory

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's commits are all the same"),
]

RECORD_COMMITS = """
    CREATE TEMPORARY TABLE commit_setting (table_name text, synchronous_commit text);
    CREATE FUNCTION pg_temp.record_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO commit_setting VALUES (TG_TABLE_NAME, current_setting('synchronous_commit'));
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER record_commit AFTER INSERT ON merchants_nonce
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pg_temp.record_commit();
    CREATE CONSTRAINT TRIGGER record_commit AFTER INSERT ON merchants_business
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pg_temp.record_commit();
"""
STOP_RECORDING = """
    DROP TRIGGER record_commit ON merchants_nonce;
    DROP TRIGGER record_commit ON merchants_business;
    DROP FUNCTION pg_temp.record_commit();
    DROP TABLE commit_setting;
"""


@pytest.fixture
def committed(api):
    """Return a function that returns each inserted row's table and the setting that its commit had."""
    with connection.cursor() as cursor:
        cursor.execute(RECORD_COMMITS)

    def rows():
        with connection.cursor() as cursor:
            cursor.execute("SELECT table_name, synchronous_commit FROM commit_setting ORDER BY ctid")
            return cursor.fetchall()

    yield rows
    with connection.cursor() as cursor:
        cursor.execute(STOP_RECORDING)


def use(nonce):
    assert nonces.use(nonce, api_key=ApiKey.objects.get(), now=timezone.now())


def test_is_asynchronous(committed):
    use("nonce-of-sixteen-1")

    assert committed() == [("merchants_nonce", "off")]


def test_leaves_later_commits_of_the_connection_synchronous(committed):
    use("nonce-of-sixteen-1")
    BusinessFactory()
    use("nonce-of-sixteen-2")
    with transaction.atomic():
        BusinessFactory()

    assert committed()[1::2] == [("merchants_business", "on")] * 2


def test_of_a_repeated_nonce_leaves_later_commits_synchronous(committed):
    use("nonce-of-sixteen-1")
    assert not nonces.use("nonce-of-sixteen-1", api_key=ApiKey.objects.get(), now=timezone.now())
    BusinessFactory()

    assert committed()[-1] == ("merchants_business", "on")


def test_of_a_key_that_is_not_usable_leaves_later_commits_synchronous(committed):
    key = ApiKey.objects.get()
    ApiKey.objects.update(revoked_at=timezone.now())
    assert not nonces.use("nonce-of-sixteen-1", api_key=key, now=timezone.now())
    BusinessFactory()

    assert committed() == [("merchants_business", "on")]


def test_within_a_database_transaction_is_synchronous(committed):
    with transaction.atomic():
        BusinessFactory()
        use("nonce-of-sixteen-1")

    assert committed() == [("merchants_business", "on"), ("merchants_nonce", "on")]
    assert Nonce.objects.exists()
