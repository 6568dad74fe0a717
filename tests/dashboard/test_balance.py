"""The balance page: the wallet statement, its links and its export."""

import csv
import io
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import urljoin
from uuid import uuid4

import pytest
from django.utils import timezone

from dashboard.balance import settlement_calendar
from dashboard.ui.components.figures import Change
from kit.money.money import approximate, money
from payments.models import SettlementBatch
from payments.services.payouts import payout_returns
from payments.services.transfers import unapplied_decisions
from tests import orders
from tests.dashboard.test_settlements import NASTY
from tests.developer_site.test_pages import Audit
from tests.reserves import released
from tests.settling import STAFF, decide, settle
from tests.transactions import captured_payment, start
from tests.unapplied import mismatched_money
from tests.wallets import fill_wallet
from tests.weighing import weigh

pytestmark = pytest.mark.django_db

BALANCE = "/dashboard/balance/"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def top_up(business, amount, *, at, currency="NGN", reason="Float"):
    fill_wallet(business, amount, at=at, currency=currency, reason=reason)


def text_of(client, address):
    return unescape(client.get(address).content.decode())


def exported(client, address):
    answer = client.get(address)
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode("utf-8-sig"))))


@pytest.fixture
def week(ada):
    """A top-up on each of seven days: 1, 10, 100 …"""
    for n in range(7):
        top_up(ada.business, 10**n, at=NOON + n * timedelta(days=1))


class TestPage:
    def test_links_each_movement_to_its_cause(self, browser, ada):
        now = timezone.now()
        fill_wallet(ada.business, 1_000_000)
        captured_payment(business=ada.business, now=now)
        batch = decide(*settle(), "approve", "release")
        payout = start(orders.payout(reference="salary-1"), business=ada.business, now=now)
        money = mismatched_money(business=ada.business, now=now)
        unapplied_decisions.credit(money.pk, reason="Theirs", actor=STAFF, now=now)

        shown = browser.get(BALANCE)

        assert [(row.title, row.address) for row in shown.context["rows"]] == [
            (
                f"Unapplied transfer from {money.transfer.sender_name}",
                f"/dashboard/virtual-accounts/unapplied/{money.pk}/",
            ),
            ("Payout to Ada Obi", f"/dashboard/payouts/{payout.pk}/"),
            (f"Settlement of {batch.day:%-d %b %Y}", f"/dashboard/settlements/{batch.pk}/"),
            ("Top-up", ""),
        ]
        for row in shown.context["rows"]:
            assert not row.address or browser.get(row.address).status_code == 200
        assert "salary-1" in unescape(shown.content.decode())

    def test_returned_payout_shows_its_reference_and_its_reason(self, browser, ada):
        now = timezone.now()
        payout = start(orders.payout(reference="salary-1"), business=ada.business, now=now)
        payout_returns.reverse(transaction_id=payout.pk, reason="Account closed", actor=STAFF, now=now)

        shown = browser.get(BALANCE)

        returned = shown.context["rows"][0]
        assert (returned.title, returned.reference, returned.note) == (
            "Returned payout to Ada Obi",
            "salary-1",
            "Account closed",
        )
        assert returned.address == f"/dashboard/payouts/{payout.pk}/"
        assert "Account closed" in unescape(shown.content.decode())

    @pytest.mark.parametrize(
        ("query", "opening", "closing", "rows"),
        [
            ("", 0, 1_111_111, 7),
            ("?since=2026-03-03&until=2026-03-05", 11, 11_111, 3),
            ("?until=2026-03-01", 0, 1, 1),
            ("?since=2026-04-01", 1_111_111, 1_111_111, 0),
        ],
    )
    def test_shows_opening_and_closing_balance(self, browser, week, query, opening, closing, rows):  # noqa: PLR0917
        context = browser.get(f"{BALANCE}{query}").context

        history = context["history"]
        assert (history.opening, history.closing, len(context["rows"])) == (opening, closing, rows)

    @pytest.mark.parametrize(
        ("query", "amounts"),
        [
            ("amount_from=100", [-251_000, 1_000_000]),
            ("amount_from=2,500&amount_to=2,600", [-251_000]),
            ("amount_to=0.01", [1]),
            ("amount_from=NGN 10,000.00", [1_000_000]),
            ("amount_from=₦10,000", [1_000_000]),
        ],
    )
    def test_filters_by_the_amount_of_debits_and_credits(self, browser, ada, query, amounts):
        top_up(ada.business, 1_000_000, at=NOON)
        top_up(ada.business, 1, at=NOON)
        start(orders.payout(amount=250_000), business=ada.business, now=timezone.now())

        shown = browser.get(f"{BALANCE}?{query}")

        assert [row.movement.posting.amount for row in shown.context["rows"]] == amounts
        assert str(shown.context["totals"].count) == str(len(amounts))
        assert [
            float(row["amount"]) * 100 for row in exported(browser, f"{BALANCE}export.csv?{query}")
        ] == amounts

    def test_shows_no_balances_that_do_not_add_up(self, browser, week):
        assert "Opening balance" in text_of(browser, BALANCE)
        assert "Opening balance" not in text_of(browser, f"{BALANCE}?amount_from=1")

    def test_reads_a_bounded_number_of_movements_for_an_amount(self, browser, week, monkeypatch):
        monkeypatch.setattr("dashboard.ui.lists.pagination.MOST_SCANNED", 3)

        shown = browser.get(f"{BALANCE}?amount_to=0.05")

        assert not shown.context["rows"]
        assert "No matches among the newest rows" in text_of(browser, f"{BALANCE}?amount_to=0.05")

    def test_pages_keep_the_balances_of_the_period(self, browser, ada):
        for n in range(13):
            top_up(ada.business, 1, at=NOON + timedelta(minutes=n))

        first = browser.get(BALANCE).context
        second = browser.get(f"{BALANCE}{first['page'].older}").context

        assert [len(each["rows"]) for each in (first, second)] == [7, 6]
        assert (second["history"].opening, second["history"].closing) == (0, 13)

    def test_shows_only_own_movements(self, other_browser, ada):
        fill_wallet(ada.business, 50_000)

        assert not other_browser.get(BALANCE).context["rows"]

    def test_never_fails_on_bad_input(self, subtests, browser, ada):
        for query in [
            "currency=XXX",
            "amount_from=x",
            "amount_to=-1",
            "since=odd",
            "until=1999-01-01",
            "before=x",
            "after=%00",
            "before=-1",
        ]:
            with subtests.test(query=query):
                fill_wallet(ada.business, 1)

                assert browser.get(f"{BALANCE}?{query}").status_code == 200
                assert browser.get(f"{BALANCE}export.csv?{query}").status_code in {200, 302}

    def test_text_is_escaped(self, browser, ada):
        top_up(ada.business, 1, at=NOON, reason=NASTY)

        shown = browser.get(BALANCE).content.decode()

        assert "<script>" not in shown
        assert NASTY in unescape(shown)
        assert Audit(shown).findings == []

    def test_reads_a_full_page_in_few_queries(self, browser, ada, django_assert_max_num_queries):
        for _ in range(30):
            start(orders.payout(), business=ada.business, now=timezone.now())

        with django_assert_max_num_queries(12):
            assert browser.get(f"{BALANCE}?since=2026-01-01&until=2026-12-31").status_code == 200


class TestStrip:
    def test_says_where_the_money_is_and_how_that_changed(self, browser, ada):
        now = timezone.now()
        top_up(ada.business, 1_000_000, at=now - timedelta(days=40))
        top_up(ada.business, 200_000, at=now)
        captured_payment(business=ada.business, now=now, amount=100_000)

        available, pending, in_flight = browser.get(BALANCE).context["strip"]

        assert (available.value, available.change) == (
            "12,000.00",
            Change("↑ NGN 2,000.00", "up", "from NGN 10,000.00"),
        )
        assert (pending.name, pending.change.note) == ("Pending settlement", "Nothing earlier to compare")
        assert in_flight.value == "0.00"

    def test_shows_other_currencies_with_money(self, browser, ada):
        top_up(ada.business, 1, at=NOON)
        top_up(ada.business, 1_200, at=NOON, currency="USD")

        assert 'href="?currency=USD">USD 12.00</a> is available too' in text_of(browser, BALANCE)
        assert 'href="?currency=NGN">NGN 0.01</a> is available too' in text_of(
            browser, f"{BALANCE}?currency=USD"
        )

    def test_is_absent_without_money(self, browser, ada):
        top_up(ada.business, 1, at=NOON)

        context = browser.get(f"{BALANCE}?currency=USD").context

        assert (context["history"], context["rows"]) == (None, [])

    def test_says_how_much_covers_payouts_if_it_is_less(self, browser, ada):
        start(orders.payout(amount=100_000), business=ada.business, now=timezone.now())

        assert browser.get(BALANCE).context["strip"][0].note == "NGN 0.00 for payouts"


class TestChart:
    def test_has_the_balance_after_each_day(self, browser, ada, week):
        context = browser.get(f"{BALANCE}?since=2026-03-01&until=2026-03-07").context

        assert [point.amount for point in context["chart"].points] == [
            f"NGN {int('1' * n) / 100:,.2f}" for n in range(1, 8)
        ]
        assert context["chart"].lowest.days == "1 Mar"

    def test_of_a_long_period_has_weeks(self, browser, ada, week):
        chart = browser.get(f"{BALANCE}?since=2026-03-01&until=2026-04-30").context["chart"]

        assert len(chart.points) == 9
        assert chart.points[-1].days == "24 Apr to 30 Apr"

    def test_is_of_the_last_thirty_days(self, browser, ada, week):
        context = browser.get(BALANCE).context

        assert len(context["chart"].points) == 30
        assert context["period"].last == timezone.localdate()
        assert {point.amount for point in context["chart"].points} == {"NGN 11,111.11"}

    def test_links_to_the_movements_of_a_day(self, browser, ada, week):
        text = text_of(browser, f"{BALANCE}?since=2026-03-01&until=2026-03-07")

        assert 'href="?since=2026-03-03&until=2026-03-03"' in text
        assert len(browser.get(f"{BALANCE}?since=2026-03-03&until=2026-03-03").context["rows"]) == 1

    def test_of_debts_goes_below_zero(self, browser, ada):
        start(orders.payout(amount=100_000), business=ada.business, now=timezone.now())

        chart = browser.get(BALANCE).context["chart"]

        assert chart.points[-1].amount == money(-101_000, "NGN")
        assert chart.zero == "0"


class TestCalendar:
    def test_has_what_was_released_and_what_is_expected(self, browser, ada):
        now, today = timezone.now(), timezone.localdate()
        released(ada.business, 1_000_000)
        captured_payment(business=ada.business, now=now, amount=2_000_000)

        context = browser.get(BALANCE).context

        days = {each.day: each for week in context["calendar"].weeks for each in week if each}
        batch = SettlementBatch.objects.get()
        assert (days[today].sum, days[today].is_expected) == (approximate(batch.net, "NGN"), False)
        assert urljoin(BALANCE, days[today].address) == f"/dashboard/settlements/{batch.pk}/"
        pending = next(each.pending for each in context["form"].balances if each.currency == "NGN")
        tomorrow = today + timedelta(days=1)
        if tomorrow.month == today.month:
            assert (days[tomorrow].sum, days[tomorrow].is_expected) == (approximate(pending, "NGN"), True)

    def test_shows_a_batch_that_waits_today(self, browser, ada):
        captured_payment(business=ada.business, now=timezone.now(), amount=2_000_000)
        settle()

        context = browser.get(BALANCE).context

        days = {each.day: each for week in context["calendar"].weeks for each in week if each}
        today = days[timezone.localdate()]
        assert (today.sum, today.is_expected) == (approximate(SettlementBatch.objects.get().net, "NGN"), True)
        assert [each.day for each in days.values() if each.sum] == [today.day]

    def test_shows_what_waits_beside_what_was_released_today(self, browser, ada):
        released(ada.business, 1_000_000)
        done = SettlementBatch.objects.get()
        captured_payment(business=ada.business, now=timezone.now(), amount=2_000_000)
        settle()
        waiting = SettlementBatch.objects.exclude(pk=done.pk).get()

        answer = browser.get(BALANCE)

        days = {each.day: each for week in answer.context["calendar"].weeks for each in week if each}
        today = days[timezone.localdate()]
        assert (today.sum, today.is_expected) == (approximate(done.net, "NGN"), False)
        assert today.still_expected == approximate(waiting.net, "NGN")
        assert f"<b>{today.still_expected}</b>" in answer.content.decode()

    def test_of_a_full_month_stays_within_the_budget_of_a_page(self, browser, ada, monkeypatch):
        now = timezone.now()
        captured_payment(business=ada.business, now=now)
        for n in range(30):
            start(orders.payout(amount=123_456_789 + n), business=ada.business, now=now)
        full = [
            settlement_calendar.Batch(uuid4(), n * 12_345_678, "released", now.replace(day=n))
            for n in range(1, 29)
        ]
        monkeypatch.setattr(settlement_calendar, "_batches", lambda *_, **__: full)

        def read(address):
            return browser.get(address).getvalue()

        assert weigh(browser.get(BALANCE).content.decode(), read).page <= 60_000

    def test_shows_the_month_of_the_statement(self, browser, ada, week):
        context = browser.get(f"{BALANCE}?since=2026-03-01&until=2026-03-07").context

        assert str(context["calendar"].month) == "2026-03-07"

    def test_shows_nothing_of_another_business(self, other_browser, ada, bisi):
        released(ada.business, 1_000_000)
        top_up(bisi.business, 1, at=NOON)

        weeks = other_browser.get(BALANCE).context["calendar"].weeks

        assert not any(each.sum for week in weeks for each in week if each)


class TestExport:
    def test_has_every_movement_of_the_period_with_its_reference(self, browser, ada, monkeypatch):
        monkeypatch.setattr("dashboard.balance.views.EXPORTED_AT_ONCE", 2)
        for n in range(5):
            top_up(ada.business, 1_000_000, at=NOON + n * timedelta(days=1))
        start(orders.payout(reference="salary-1", amount=100), business=ada.business, now=timezone.now())

        rows = exported(browser, f"{BALANCE}export.csv?currency=NGN&since=2026-03-03")

        assert [(row["id"], row["kind"]) for row in rows] == [
            ("NGN-6", "payout_accepted"),
            ("NGN-5", "top_up"),
            ("NGN-4", "top_up"),
            ("NGN-3", "top_up"),
        ]
        assert (rows[0]["reference"], rows[0]["amount"], rows[0]["balance_after"]) == (
            "salary-1",
            "-11.00",
            "49989.00",
        )

    def test_names_movements_and_counterparties_as_the_page_does(self, browser, ada):
        now = timezone.now()
        top_up(ada.business, 1_000_000, at=NOON)
        captured_payment(business=ada.business, now=now)
        batch = decide(*settle(), "approve", "release")
        start(orders.payout(reference="salary-1"), business=ada.business, now=now)

        rows = exported(browser, f"{BALANCE}export.csv")

        assert [(row["movement"], row["counterparty"]) for row in rows] == [
            ("Payout to Ada Obi", "Ada Obi"),
            (f"Settlement of {batch.day:%-d %b %Y}", ""),
            ("Top-up", ""),
        ]

    def test_contains_no_formula(self, browser, ada):
        top_up(ada.business, 1, at=NOON, reason="=HYPERLINK(1)")

        (row,) = exported(browser, f"{BALANCE}export.csv")

        assert row["note"] == "'=HYPERLINK(1)"
