"""Ranges of keys in which `check_ledger` reads large tables."""

import pytest
from django.db import connection

from ledger import invariants
from ledger.invariants import KeyRange
from tests.wallets import fill_wallet

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("rows", [1, 2])
def test_rows_without_a_key_are_read_apart(ada, rows, monkeypatch):
    """A condition with OR reads the whole index."""
    monkeypatch.setattr(invariants, "RANGE", rows)
    for amount in (1_000, 2_000):
        fill_wallet(ada.business, amount)

    with connection.cursor() as cursor:
        *ranges, missing = invariants._key_ranges(cursor, "ledger_posting", "id")

    assert missing.condition("id") == "id IS NULL"
    assert len(ranges) > 1
    assert not any("NULL" in each.condition("id") for each in ranges)


def test_bounds_that_are_uuids_are_hidden_from_the_planner():
    """Otherwise, it estimates one row for a range that is narrower than a bucket of its histogram."""
    low, high = "'01a20e93-6be4-70f9-81c6-0737b7a92227'", "'01a20e93-6be4-70f9-81c6-0737b7a92228'"

    kind = "uuid" if connection.vendor == "postgresql" else "char(32)"

    condition = KeyRange(low, high).condition("id")

    assert condition == f"id > (SELECT CAST({low} AS {kind})) AND id <= (SELECT CAST({high} AS {kind}))"
