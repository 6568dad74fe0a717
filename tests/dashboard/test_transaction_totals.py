"""Counts and sums of transaction lists beyond the limit of counted rows come from daily totals, and are exact."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from dashboard.ui.list_totals import Count, count_each
from kit.money import money
from merchants.models import Business
from payments.models import Transaction
from payments.services.reporting import daily_totals
from tests import orders
from tests.transactions import authorised_payment, captured_payment, start
from tests.wallets import fill_wallet

pytestmark = [pytest.mark.django_db, pytest.mark.long]

DAY = timedelta(days=1)
DECLINED = orders.card_source(pan=orders.DECLINED_CARD)


@pytest.fixture(autouse=True)
def _few_are_counted(monkeypatch):
    """Count at most two rows, as if thousands matched."""
    monkeypatch.setattr("dashboard.ui.list_counts.count_each", partial(count_each, most=2))
    monkeypatch.setattr("dashboard.ui.pagination.MOST_SCANNED", 2)


@pytest.fixture
def busy(ada, now):
    """A business east of UTC with transactions of six days, of which some are counted already."""
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
    for _ in daily_totals.roll_up(now=now):
        pass
    return business


def day(business, ago):
    return timezone.now().astimezone(business.zone).date() - ago * DAY


def listed(browser, query, *, page="payments"):
    context = browser.get(f"/dashboard/{page}/?{query}").context
    return context["totals"], {tab.name: tab.count for tab in context["tabs"]}


def plain(business, *, first, last, **wanted):
    rows = Transaction.objects.filter(business=business, **wanted)
    return [row for row in rows if first <= row.created_at.astimezone(business.zone).date() <= last]


class TestCounts:
    @pytest.mark.parametrize(
        ("query", "wanted"),
        [
            ("", {}),
            ("status=failed", {"status": "failed"}),
            ("status=pending", {"status": "pending"}),
            ("method=card", {"method": "card"}),
            ("currency=USD", {"currency": "USD"}),
            ("status=success&method=card&currency=NGN", {"status": "success", "currency": "NGN"}),
            ("status=failed&code=20051", {"status": "failed", "response_code": "20051"}),
            ("status=failed&code=20014", {"response_code": "20014"}),
        ],
    )
    @pytest.mark.parametrize("days", [(5, 0), (4, 1), (3, None)])
    def test_of_whole_days_are_exact(self, browser, busy, query, wanted, days):
        since, until = days
        first, last = day(busy, since), day(busy, until or 0)
        address = f"{query}&since={first}" + ("" if until is None else f"&until={last}")

        shown, _ = listed(browser, address)

        matching = plain(busy, first=first, last=last, request_type="payment", **wanted)
        assert shown.count == Count(len(matching))
        sums = {}
        for row in matching:
            if row.status == "success":
                sums[row.currency] = sums.get(row.currency, 0) + row.amount_captured
        ordered = sorted(sums.items(), key=lambda each: -each[1])
        assert list(shown.sums) == [money(total, currency) for currency, total in ordered]

    def test_of_tabs_are_exact_where_totals_know_them(self, browser, busy):
        _, tabs = listed(browser, "period=7d")

        assert not tabs.pop("Authorised").is_exact  # totals don't know what a payment waits for
        assert tabs == {
            "All": Count(24),
            "Succeeded": Count(12),
            "Pending": Count(6),
            "Failed": Count(6),
            "Refunded": Count(0, is_exact=False),
            "Card checks": Count(6),
        }

    def test_of_payouts_are_exact(self, browser, busy):
        shown, tabs = listed(browser, "period=7d", page="payouts")

        assert (shown.count, tabs["Succeeded"]) == (Count(6), Count(6))
        assert shown.sums == ["NGN 42.15"]

    @pytest.mark.parametrize(
        "query",
        [
            "",
            "until={0}",
            "since={100}",
            "since={5}&amount_from=1",
            "since={5}&status=refunded",
            "since={5}&q=x",
        ],
    )
    def test_of_other_filters_stop_at_the_limit(self, browser, busy, query):
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

        assert str(first["totals"]).startswith("1\u201320 of 24 payments")
        assert str(second["totals"]).startswith("4 of 24 payments")


def test_few_matches_are_counted_without_totals(browser, ada, now, monkeypatch):
    """Totals cost more than counting a few rows."""
    captured_payment(business=ada.business, now=now)
    monkeypatch.setattr("dashboard.transactions.rows.tally_totals", None)

    assert listed(browser, "period=7d")[0].count == Count(1)
