"""Every list has tabs with counts, chips, saved views, totals, and a message for an invalid filter."""

from itertools import product

import pytest

from dashboard.tasks import index_search
from dashboard.ui.lists import pagination
from dashboard.ui.lists.saved_views import LISTS
from merchants.models import AuditEntry
from payments.models import SettlementBatch
from tests import orders
from tests.links import link_of
from tests.settling import settle
from tests.transactions import captured_payment, start
from tests.unapplied import mismatched_money
from tests.wallets import fill_wallet
from tests.webhooks.rows import make_delivery, make_endpoint
from virtual_accounts.models import UnappliedMoney
from webhooks.models import Delivery

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.servers]

WITH_TABS = {
    "/dashboard/payments/": "status",
    "/dashboard/payouts/": "status",
    "/dashboard/payment-links/": "status",
    "/dashboard/virtual-accounts/": "status",
    "/dashboard/virtual-accounts/unapplied/": "state",
    "/dashboard/webhooks/deliveries/": "state",
    "/dashboard/settlements/": "state",
    "/dashboard/developers/requests/": "status",
}
LISTED = [*WITH_TABS, "/dashboard/activity/", "/dashboard/balance/"]
WITHOUT_SEARCH = {"/dashboard/balance/"}  # a statement adds up
WITHOUT_EXPLANATION = {*WITHOUT_SEARCH, "/dashboard/virtual-accounts/unapplied/"}


@pytest.fixture
def busy(ada, api, now):
    """A business with a row in every list."""
    endpoint = make_endpoint(business=ada.business)
    make_delivery(endpoint)
    captured_payment(business=ada.business, now=now, amount=50_001)
    fill_wallet(ada.business, 5_000_000)
    start(orders.payout(amount=250_000), business=ada.business, now=now)
    mismatched_money(business=ada.business, now=now)
    link_of(ada.business, now=now)
    settle()
    return ada.business


class TestList:
    def test_has_totals_and_counts(self, subtests, browser, busy):
        for address in LISTED:
            with subtests.test(address):
                page = browser.get(address)

                if page.context["page"].rows:
                    assert page.context["totals"].count.number >= len(page.context["page"].rows)
                if address in WITH_TABS:
                    assert page.context["tabs"][0].count == page.context["totals"].count
                    assert page.context["tabs"][0].is_here

    def test_has_presets_of_days(self, subtests, browser, busy):
        for address in LISTED:
            days = browser.get(address).context["bar"].chips
            presets = [preset for chip in days for preset in chip.presets if "period=" in preset.address]

            with subtests.test(address):
                assert [preset.label for preset in presets][:3] == ["Today", "Yesterday", "Last 7 days"]
                for preset in presets:
                    assert browser.get(f"{address}{preset.address}").status_code == 200

    def test_says_that_a_filter_is_invalid_instead_of_showing_all(self, subtests, browser, busy):
        for address, query in product(LISTED, ("period=nonsense", "since=nonsense")):
            with subtests.test(address, query=query):
                page = browser.get(f"{address}?{query}")

                assert page.context["page"].rows == []
                assert 'role="alert"' in page.content.decode()
                assert "Clear" in page.content.decode()

    def test_begins_at_its_first_page_with_an_invalid_cursor(self, subtests, browser, busy):
        last = "ffffffff-ffff-ffff-ffff-ffffffffffff"
        cursors = (f"0001-01-01T00:00:00+14:00~{last}", f"9999-12-31T23:59:59-14:00~{last}", "nonsense")
        for address, name, cursor in product(LISTED, ("before", "after"), cursors):
            with subtests.test(address, name=name, cursor=cursor):
                page = browser.get(address, {name: cursor})

                assert page.status_code == 200
                assert page.context["page"].rows == browser.get(address).context["page"].rows

    def test_has_views_of_its_own(self, subtests, browser, busy):
        for address in LISTED:
            with subtests.test(address):
                listed = browser.get(address).context["views"].list
                answer = browser.post(
                    "/dashboard/views/", {"list": listed, "name": "Mine", "query": "period=7d"}
                )

                assert answer["Location"] == f"{address}?period=7d"
                assert browser.get(answer["Location"]).context["views"].here.name == "Mine"
                assert listed in LISTS

    def test_has_a_search_whose_placeholder_fits(self, subtests, browser, busy):
        for address in LISTED:
            if address in WITHOUT_SEARCH:
                continue
            page = browser.get(address, {"q": "nothing like it"})
            placeholder = page.content.decode().partition('placeholder="')[2].partition('"')[0]

            with subtests.test(address):
                assert page.context["page"].rows == []
                assert "Clear filters" in page.content.decode()
                assert 0 < len(placeholder) <= 34

    def test_explains_the_search_only_after_one(self, subtests, browser, busy):
        for address in LISTED:
            with subtests.test(address):
                filtered = browser.get(address, {"period": "last-month"}).content.decode()
                searched = browser.get(address, {"q": "nothing like it"}).content.decode()

                assert ">Clear filters<" in filtered
                assert "Enter " not in filtered.partition("empty__more")[2].partition("</p>")[0]
                assert address in WITHOUT_EXPLANATION or "Enter " in searched.partition("empty__more")[2]

    def test_is_empty_without_rows(self, subtests, other_browser, bisi):
        for address in LISTED:
            with subtests.test(address):
                page = other_browser.get(address)

                assert page.context["page"].rows == [] or address == "/dashboard/activity/"
                assert "Clear filters" not in page.content.decode()


def test_an_unknown_tab_is_an_error(subtests, browser, busy):
    for address, name in WITH_TABS.items():
        with subtests.test(address):
            page = browser.get(address, {name: "nonsense"})

            assert page.context["page"].rows == []
            assert f"The {name} in the address is unknown." in page.content.decode()


def test_each_tab_counts_what_it_shows(subtests, browser, busy):
    for address in WITH_TABS:
        tabs = browser.get(address).context["tabs"]
        for tab in (each for each in tabs if not each.address.startswith("/")):  # others lead to other lists
            with subtests.test(address, tab=tab.name):
                page = browser.get(f"{address}{tab.address}")

                assert page.context["totals"].count == tab.count
                assert len(page.context["page"].rows) == tab.count.number


class TestFilters:
    """What finds a row of each list, and what doesn't."""

    @pytest.fixture
    def rows(self, browser):
        return lambda address, **query: len(browser.get(f"/dashboard/{address}/", query).context["page"].rows)

    def test_of_unapplied_transfers(self, busy, rows):
        money = UnappliedMoney.objects.select_related("transfer__session__payment").get()
        index_search()

        for text in (
            money.transfer.bank_reference,
            money.transfer.session.payment.reference,
            money.transfer.sender_name,
        ):
            assert rows("virtual-accounts/unapplied", q=text) == 1, text
        assert rows("virtual-accounts/unapplied", reason="mismatch", period="today") == 1
        assert rows("virtual-accounts/unapplied", reason="late") == 0
        assert rows("virtual-accounts/unapplied", until="2020-01-01") == 0

    def test_of_virtual_accounts(self, busy, rows):
        assert rows("virtual-accounts", type="dynamic", status="active", period="today") == 1
        assert rows("virtual-accounts", type="static") == 0
        assert rows("virtual-accounts", until="2020-01-01") == 0

    def test_of_deliveries(self, busy, rows):
        event = Delivery.objects.first().event
        alike = Delivery.objects.filter(event=event, state="waiting").count()

        assert rows("webhooks/deliveries", event=event, state="waiting") == alike > 0
        assert rows("webhooks/deliveries", event=event, state="dead") == 0
        assert rows("webhooks/deliveries", until="2020-01-01") == 0

    def test_of_settlements(self, busy, rows):
        batch = SettlementBatch.objects.get()

        for query in ({"q": str(batch.day)}, {"q": str(batch.pk)}, {"since": batch.day, "until": batch.day}):
            assert rows("settlements", **query) == 1, query
        assert rows("settlements", q="2020-01-01") == 0

    def test_of_activity(self, busy, rows):
        entry = AuditEntry.objects.filter(business=busy).exclude(target="").last()

        assert rows("activity", q=entry.target) >= 1
        assert rows("activity", until="2020-01-01") == 0


def test_counts_among_the_newest_without_an_index(browser, busy, monkeypatch, django_assert_max_num_queries):
    endpoint = busy.webhook_endpoints.get()
    for _ in range(6):
        make_delivery(endpoint)
    event = Delivery.objects.first().event
    monkeypatch.setattr(pagination, "MOST_SCANNED", 3)

    with django_assert_max_num_queries(12):
        page = browser.get("/dashboard/webhooks/deliveries/", {"event": event, "state": "waiting"})

    assert str(page.context["totals"].count).endswith("+")
    assert page.context["page"].is_partial
    older = browser.get(f"/dashboard/webhooks/deliveries/{page.context['page'].older}")
    shown = {each.pk for each in page.context["page"].rows}
    assert shown
    assert not shown & {each.pk for each in older.context["page"].rows}
