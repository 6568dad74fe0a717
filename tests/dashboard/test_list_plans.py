"""The dashboard's lists read only their business's rows, however PostgreSQL estimates."""

from contextlib import contextmanager

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from payments.models import Transaction
from tests.transactions import captured_payment

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's plans have a different form"),
]

COPIES = """
    INSERT INTO payments_transaction ({columns}) SELECT {values} FROM payments_transaction one, generate_series(1, 10000) n
    WHERE one.id = %s
"""
# One second of the id's time for each copy: before those of the other business, or after them.
ID = "overlay(replace(one.id::text, '-', '') placing lpad(to_hex(1700000000000 + (n + {first}) * 1000), 12, '0') from 1 for 12)::uuid"


@pytest.fixture
def crowd(ada, bisi):
    """Ada Books has ten thousand payments, and Bisi Bikes as many before and after them."""
    for business, first in ((bisi, 0), (ada, 10_000), (bisi, 20_000)):
        copy(captured_payment(business=business.business, now=timezone.now(), reference=f"of-{first}"), first)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE payments_transaction")
    yield
    # They have no ledger entries, which later checks of the books would find.
    with without_triggers() as cursor:
        cursor.execute("DELETE FROM payments_transaction WHERE reference LIKE 'copy-%'")


def copy(one, first):
    changes = {"id": ID.format(first=first), "reference": f"'copy-{first}-' || n"}
    columns = [field.column for field in Transaction._meta.concrete_fields]
    values = ", ".join(changes.get(name, f"one.{name}") for name in columns)
    with without_triggers() as cursor:
        cursor.execute(COPIES.format(columns=", ".join(columns), values=values), [one.pk])


@contextmanager
def without_triggers():
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        yield cursor
        cursor.execute("RESET session_replication_role")


def removed_by_filters(plan):
    """Return how many rows the steps of a plan read and discard."""
    own = plan.get("Rows Removed by Filter", 0) * plan.get("Actual Loops", 1)
    return own + sum(removed_by_filters(step) for step in plan.get("Plans", []))


@pytest.mark.parametrize("query", ["", "?sort=oldest", "?status=success", "?status=success&sort=oldest"])
def test_page_passes_no_rows_of_others(browser, crowd, query):
    with CaptureQueriesContext(connection) as captured:
        assert browser.get(f"/dashboard/payments/{query}").status_code == 200
    statement = next(
        each["sql"] for each in captured if each["sql"].startswith('SELECT "payments_transaction"."id", ')
    )

    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}")
        plan = cursor.fetchone()[0][0]["Plan"]
    assert removed_by_filters(plan) <= 100, plan
