import pytest
from django.db import connection

from kit.db.triggers import _existing, create_missing, final, kept, never_deleted, permanent_rows

pytestmark = pytest.mark.django_db


def test_a_database_that_is_migrated_in_part_gets_the_triggers_of_its_tables_and_columns():
    """Such as by `migrate payments 0017`: one table that is missing must not leave the others without triggers."""
    before = _existing(connection)

    create_missing(
        [
            *never_deleted("a_later_table"),
            *final("django_session", "a_later_column", unless=""),
            *kept("django_session", ("session_key", "a_later_column")),
            *permanent_rows("django_session", ("a_later_column",)),
            *never_deleted("django_session"),
        ],
        connection,
    )

    assert _existing(connection) - before == {"django_session_no_delete"}


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no schemas.")
def test_tables_of_a_later_schema_of_the_search_path_get_their_triggers():
    before = _existing(connection)
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA earlier; SET LOCAL search_path TO earlier, public")

    create_missing(never_deleted("django_session"), connection)

    assert _existing(connection) - before == {"django_session_no_delete"}
