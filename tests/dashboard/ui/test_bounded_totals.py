"""Counts and sums of lists."""

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from dashboard.ui.lists.bounded_totals import Count, ListTotals, count_each, sums
from payments.models import Transaction
from tests import orders
from tests.transactions import captured_payment, start

pytestmark = [pytest.mark.django_db, pytest.mark.servers]


@pytest.fixture
def payments(ada, now):
    for _ in range(4):
        captured_payment(business=ada.business, now=now, amount=150_000)
    return Transaction.objects.of(ada.business)


class TestCountEach:
    def test_counts_all_parts_in_one_statement(self, payments, django_assert_num_queries):
        with django_assert_num_queries(1):
            counts = count_each(
                {
                    "success": [payments.filter(status="success")],
                    "failed": [payments.filter(status="failed")],
                    "nothing": [payments.none()],
                }
            )

        assert counts == {"success": Count(4), "failed": Count(0), "nothing": Count(0)}

    def test_counts_a_row_of_several_sources_once(self, payments):
        assert count_each({"both": [payments, payments.filter(status="success")]}) == {"both": Count(4)}

    @pytest.mark.parametrize(("most", "count"), [(4, Count(4)), (3, Count(3, is_exact=False))])
    @pytest.mark.parametrize("are_disjoint", [True, False])
    def test_stops_at_the_limit(self, payments, most, count, are_disjoint):
        sources = [payments.filter(status="success"), payments.filter(status="failed")]

        assert count_each({"all": sources}, most=most, are_disjoint=are_disjoint) == {"all": count}

    def test_adds_sources_that_have_no_row_in_common(self, payments):
        first = payments.order_by("pk")[0].pk
        sources = [payments.filter(pk=first), payments.exclude(pk=first)]

        assert count_each({"all": sources}, are_disjoint=True) == {"all": Count(4)}

    def test_counts_parts_with_the_same_rows_once(self, payments):
        with CaptureQueriesContext(connection) as captured:
            counts = count_each({"tab": [payments], "shown": [payments.all()]})

        assert counts == {"tab": Count(4), "shown": Count(4)}
        assert captured[0]["sql"].count("count(*)") == 1


def test_sums_each_currency(ada, now, payments):
    start(orders.card_payment(amount=99, currency="USD"), business=ada.business, now=now)

    assert sums([payments, payments], F("amount")) == ["NGN 6,000.00", "USD 0.99"]


@pytest.mark.parametrize(
    ("shown", "newer", "count", "sums", "text"),
    [
        (25, 0, Count(82), ["NGN 1,204,300.00"], "1\u201325 of 82 payments · NGN 1,204,300.00 succeeded"),
        (7, 75, Count(82), [], "76\u201382 of 82 payments"),
        (1, 0, Count(1), [], "1 of 1 payment"),
        (25, None, Count(10_000, is_exact=False), [], "25 of 10,000+ payments"),
    ],
)
def test_totals_read_as_a_sentence(shown, newer, count, sums, text):
    totals = ListTotals(
        shown=shown, newer=newer, count=count, noun="payments", singular="payment", sums=sums,
        sums_are="succeeded",
    )  # fmt: skip

    assert str(totals) == text
