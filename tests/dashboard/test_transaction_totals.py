"""Counts of transaction lists stop at a limit."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from dashboard.ui.lists.bounded_totals import Count, count_each
from merchants.models import Business
from tests import orders
from tests.transactions import authorised_payment, captured_payment, start
from tests.wallets import fill_wallet

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.servers]

DAY = timedelta(days=1)
DECLINED = orders.card_source(pan=orders.DECLINED_CARD)


@pytest.fixture(autouse=True)
def _few_are_counted(monkeypatch):
    """Count at most two rows, as if thousands matched."""
    monkeypatch.setattr("dashboard.ui.lists.list_counts.count_each", partial(count_each, most=2))
    monkeypatch.setattr("dashboard.ui.lists.pagination.MOST_SCANNED", 2)


@pytest.fixture
def busy(ada, now):
    """A business east of UTC with transactions of six days."""
    Business.objects.filter(pk=ada.business_id).update(time_zone="Pacific/Kiritimati")
    business = Business.objects.get(pk=ada.business_id)
    fill_wallet(business, 1_000_000)
    for ago in range(6):
        at = now - ago * DAY
        captured_payment(business=business, now=at, amount=10_000 + 100 * ago)
        captured_payment(business=business, now=at, amount=2_000 + 100 * ago, currency="USD")
        authorised_payment(business=business, now=at)
        start(orders.card_payment(source=DECLINED), business=business, now=at)
        start(orders.payout(amount=700 + ago), business=business, now=at)
        start(orders.card_check(), business=business, now=at)
    return business


def day(business, ago):
    return timezone.now().astimezone(business.zone).date() - ago * DAY


def listed(browser, query, *, page="payments"):
    context = browser.get(f"/dashboard/{page}/?{query}").context
    return context["totals"], {tab.name: tab.count for tab in context["tabs"]}


class TestCounts:
    @pytest.mark.parametrize(
        "query",
        [
            "",
            "since={5}&until={0}",
            "until={0}",
            "since={100}",
            "since={5}&method=card",
            "since={5}&amount_from=1",
            "since={5}&status=refunded",
            "since={5}&q=x",
        ],
    )
    def test_stop_at_the_limit(self, browser, busy, query):
        for ago in (0, 5, 100):
            query = query.replace(f"{{{ago}}}", str(day(busy, ago)))

        shown, _ = listed(browser, query)

        assert list(shown.sums) == []
        assert not shown.count.is_exact or shown.count == Count(0)

    def test_of_days_to_come_are_none(self, browser, busy):
        shown, _ = listed(browser, f"since={day(busy, -1)}&method=card")

        assert shown.count == Count(0)


class TestPosition:
    def test_is_unknown_if_the_pages_before_are_not_counted(self, browser, busy):
        first = browser.get("/dashboard/payments/?period=7d").context
        second = browser.get(f"/dashboard/payments/{first['page'].older}").context

        assert str(first["totals"]).startswith("20 of 2+ payments")
        assert str(second["totals"]).startswith("4 of 2+ payments")
