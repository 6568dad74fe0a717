"""`manage.py migrate` on a new database, one at the last migration before the squash, and one behind it."""

import pytest

from config.management.commands.migrate import BEFORE_SQUASH
from tests.journeys.migrated_database import new_database

pytestmark = [pytest.mark.journey, pytest.mark.long]

# Rows that don't exist in databases from before the squash.
DELETE_LATER = "DELETE FROM django_migrations WHERE name = '0001_initial' AND app IN ('config', 'dashboard')"
DELETE_LAST = "DELETE FROM django_migrations WHERE app = 'payments' AND name > '0014_tariff_currency'"


def test_continues_at_the_last_replaced_migration_and_rejects_an_earlier_one(tmp_path):
    with new_database(tmp_path) as database:
        assert database.migrate().returncode == 0
        schema, migrations = database.schema(), database.migrations()
        assert ("payments", "0027_index_card_number_hashes") in migrations

        database.run(DELETE_LATER)
        assert database.migrate().returncode == 0
        assert database.schema() == schema
        assert database.migrations().keys() == migrations.keys()

        database.run(DELETE_LAST)
        migrations = database.migrations()
        refused = database.migrate()
        assert refused.returncode == 1
        assert "This database is behind payments." in refused.stderr
        assert f"git worktree add --detach ../sluice-{BEFORE_SQUASH} {BEFORE_SQUASH}" in refused.stderr
        assert database.schema() == schema
        assert database.migrations() == migrations
