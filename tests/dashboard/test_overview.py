"""The overview: figures of the business, and texts for an empty account."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client

from dashboard.ui.components.figures import NO_PAST, Change
from dashboard.ui.lists.bounded_totals import Count
from disputes.models import Dispute
from merchants.models import Business
from payments.models import Transaction
from tests import orders
from tests.developer_site.test_pages import Audit
from tests.disputed import disputed
from tests.factories import ApiKeyFactory
from tests.links import link_of
from tests.settling import decide, settle
from tests.transactions import authorised_payment, captured_payment, challenged_payment, start
from tests.unapplied import mismatched_money
from tests.wallets import fill_wallet
from tests.webhooks.rows import make_deliveries, make_delivery, make_endpoint
from webhooks.models import Attempt, Delivery, Endpoint, OpenOutage

pytestmark = [pytest.mark.django_db, pytest.mark.servers]

NASTY = "</td><script>alert('x')</script>{{ 7|add:7 }}"


def overview(client):
    return client.get("/dashboard/").context["overview"]


def page(client):
    return client.get("/dashboard/").content.decode()


def declined_payment(**arguments):
    return start(orders.card_payment(source=orders.card_source(pan=orders.DECLINED_CARD)), **arguments)


class TestFigures:
    def test_count_transactions(self, browser, ada, now):
        for amount in (50_000, 70_000, 1_500):
            captured_payment(business=ada.business, now=now, amount=amount)
        captured_payment(business=ada.business, now=now, amount=999, currency="USD")
        declined_payment(business=ada.business, now=now)
        challenged_payment(business=ada.business, now=now)

        figures = overview(browser).figures

        assert figures.volume == [("NGN", 121_500), ("USD", 999)]
        assert (figures.succeeded, figures.finished) == (4, 5)
        assert (figures.pending, figures.failed) == (1, 1)
        assert figures.success_rate == 800
        assert "<small>NGN</small> 1,215.00" in page(browser)

    @pytest.mark.parametrize(("days", "volume"), [(7, 500), (30, 1_100), (90, 1_900)])
    def test_cover_the_requested_number_of_days(self, browser, ada, now, days, volume):
        for amount, ago in ((500, 6), (600, 29), (800, 89), (900, 90)):
            captured_payment(business=ada.business, now=now - timedelta(days=ago), amount=amount)

        shown = browser.get(f"/dashboard/?days={days}").context["overview"]

        assert shown.figures.volume == [("NGN", volume)]

    def test_default_to_thirty_days(self, browser, ada_member):
        for days in ("", "0", "31", "x", "9" * 40):
            assert browser.get("/dashboard/", {"days": days}).context["days"] == 30

    def test_exclude_payouts_and_checks_from_volume(self, browser, ada, now):
        start(orders.payout(), business=ada.business, now=now)
        start(orders.card_check(), business=ada.business, now=now)

        figures = overview(browser).figures

        assert (figures.volume, figures.finished) == ([], 0)

    def test_exclude_other_businesses(self, browser, other_browser, ada, now):
        payment = captured_payment(business=ada.business, now=now, narration="only for Ada")
        make_deliveries(make_endpoint(business=ada.business, url="https://ada.example/hooks"), 3)

        seen = overview(other_browser)

        assert (seen.figures.volume, seen.figures.finished, list(seen.recent)) == ([], 0, [])
        assert (seen.webhook.url, seen.webhook.waiting) == ("", 0)
        for hers in (payment.reference, "ada.example", "Ada Books"):
            assert hers in page(browser)
            assert hers not in page(other_browser)


class TestRecent:
    def test_shows_the_six_newest(self, browser, ada, now):
        made = [
            captured_payment(business=ada.business, now=now - timedelta(minutes=number)).reference
            for number in range(12)
        ]

        assert [each.reference for each in overview(browser).recent] == made[:6]

    def test_shows_amount_and_status(self, browser, ada, now):
        start(orders.payout(amount=250_000), business=ada.business, now=now)

        shown = page(browser).split("<tbody>")[1]

        assert "/dashboard/payouts/" in shown
        assert '<span class="money__code">NGN</span> 2,500.00<' in shown
        assert '<span class="status status--' in shown

    def test_separates_an_account_from_its_bank(self, browser, ada, now):
        payout = start(orders.payout(), business=ada.business, now=now)

        shown = re.sub("<[^>]+>", "", page(browser))

        assert f"{payout.account_number}, {payout.bank_name}" in shown


class TestUntrustedText:
    def test_is_escaped(self, browser, ada, ada_member, now):
        payment = captured_payment(business=ada.business, now=now)
        Transaction.objects.filter(pk=payment.pk).update(reference=NASTY)
        Business.objects.filter(pk=ada.business_id).update(name=NASTY)
        ApiKeyFactory(business=ada.business, name=NASTY, expires_at=now + timedelta(days=1))
        make_endpoint(business=ada.business, url=f"https://ada.example/{NASTY}")

        shown = page(browser)

        assert "<script>" not in shown
        # Title, phone bar, business menu (name and entry, with titles), reference, key, title of the endpoint's host.
        assert unescape(shown).count(NASTY) == 10
        assert Audit(shown).findings == []


def attempted(delivery, at, *, number=1, error="", ms=10.0):
    Delivery.objects.filter(pk=delivery.pk).update(attempts_made=number)
    return Attempt.objects.create(
        delivery=delivery,
        number=number,
        started_at=at,
        total_ms=ms,
        status=None if error == "timeout" else 500 if error else 200,
        error=error,
        explanation="",
    )


class TestWebhook:
    def test_counts_no_test_events(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        over = {"next_attempt_at": None, "subject": None}
        waiting = make_delivery(endpoint, at=now, subject=None)
        failed = make_delivery(endpoint, at=now, state=Delivery.State.TEST_FAILED, **over)
        make_deliveries(endpoint, 1, at=now, state=Delivery.State.DELIVERED, delivered_at=now, **over)
        for delivery in (waiting, failed):
            attempted(delivery, now - timedelta(hours=1), error="server_error")

        health = overview(browser).webhook

        assert (health.waiting, health.dead, health.attempts, health.is_failing) == (0, 0, 0, False)

    def test_counts_deliveries_by_their_state(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business, url="https://ada.example/hooks")
        make_deliveries(endpoint, 2, at=now)
        make_deliveries(endpoint, 3, at=now, state=Delivery.State.DEAD, next_attempt_at=None)
        make_deliveries(endpoint, 1, at=now, state=Delivery.State.DELIVERED, delivered_at=now)

        health = overview(browser).webhook

        assert (health.waiting, health.dead, health.held) == (2, 3, 0)
        assert "https://ada.example/hooks" in page(browser)
        assert "3 deliveries have stopped" in page(browser)
        assert 'href="/dashboard/webhooks/replay/"' in page(browser)

    def test_shows_the_attempts_of_the_last_day_by_hour(self, browser, ada, now):
        delivery = make_delivery(make_endpoint(business=ada.business), at=now - timedelta(hours=9))
        for number, (hours, error, ms) in enumerate(
            [(30, "", 9_000), (8, "", 100), (7, "timeout", 300), (7, "", 200), (6, "", 400)], start=1
        ):
            attempted(delivery, now - timedelta(hours=hours), number=number, error=error, ms=ms)

        health = overview(browser).webhook

        assert (health.delivered, health.attempts, health.median_ms) == (3, 4, 200)
        assert list(health.hours.values()) == ["good", "bad", "good"]
        assert "3 of 4 attempts" in page(browser)
        assert "200 ms" in page(browser)
        assert 'aria-label="Attempts by hour, last 24 hours: 1 of 3 hours with failures"' in page(browser)

    def test_is_healthy_after_an_attempt_that_succeeded(self, browser, ada, now):
        delivery = make_delivery(make_endpoint(business=ada.business), at=now - timedelta(hours=9))
        attempted(delivery, now - timedelta(hours=3), number=1, error="timeout")
        attempted(delivery, now - timedelta(hours=2), number=2)

        assert "Healthy</span>" in page(browser)
        assert "failing" not in page(browser)

    def test_is_not_tried_before_the_first_attempt(self, browser, ada):
        make_endpoint(business=ada.business)

        assert "Not tried yet</span>" in page(browser)
        assert "Healthy</span>" not in page(browser)

    def test_knows_an_outage_that_is_older_than_its_attempts(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        began = now - timedelta(days=3)
        OpenOutage.objects.create(endpoint=endpoint, began_at=began)

        assert overview(browser).webhook.failing_since == began

    def test_shows_that_it_is_disabled(self, browser, ada):
        make_endpoint(business=ada.business, enabled=False)

        assert "Off</span>" in page(browser)


class TestAttention:
    def items(self, browser):
        return [each.what for each in overview(browser).attention]

    def test_is_absent_when_there_is_nothing_to_do(self, browser, ada, now):
        captured_payment(business=ada.business, now=now)
        ApiKeyFactory(business=ada.business, expires_at=now + timedelta(days=90))

        assert self.items(browser) == []
        assert "Needs attention" not in page(browser)

    def test_names_a_failing_endpoint_first(self, browser, ada, now):
        mismatched_money(business=ada.business, now=now)
        endpoint = make_endpoint(business=ada.business)
        began = now - timedelta(hours=2)
        for delivery in make_deliveries(endpoint, 2, at=began, attempts_made=1):
            attempted(delivery, began, error="timeout")
        make_deliveries(endpoint, 1, at=now, state=Delivery.State.DEAD, next_attempt_at=None)

        first, second = overview(browser).attention

        assert (first.what, first.since) == ("Your endpoint has been failing since", began)
        assert (first.action, first.address) == ("View deliveries", "/dashboard/webhooks/deliveries/")
        assert first.why == "2 deliveries are retrying, 1 delivery has stopped."
        assert "matches no open payment" in second.what
        assert "failing since <time" in page(browser)
        assert page(browser).index("Needs attention") < page(browser).index("Last 30 days</h2>")

    def test_names_no_deliveries_that_do_not_exist(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        (delivery,) = make_deliveries(endpoint, 1, at=now, attempts_made=1)
        attempted(delivery, now, error="timeout")

        (failing,) = overview(browser).attention
        Endpoint.objects.update(enabled=False)
        off = self.items(browser)

        assert failing.why == "1 delivery is retrying."
        assert off == []
        assert "0 deliveries" not in page(browser)

    def test_names_the_sender_of_a_transfer_that_fits_no_payment(self, browser, ada, now):
        money = mismatched_money(business=ada.business, now=now)

        (item,) = [each for each in overview(browser).attention if each.icon == "banknotes"]

        assert item.what.startswith(f"NGN {money.amount / 100:,.2f} from {money.transfer.sender_name}")
        assert money.transfer.sender_account_number in item.what
        assert item.why.startswith(f"Meant for {money.transfer.session.payment.reference}. ")
        assert item.address == f"/dashboard/virtual-accounts/unapplied/{money.pk}/"

    def test_counts_disputes_that_need_a_response(self, browser, ada, bisi, now):
        for business in (ada.business, ada.business, bisi.business):
            first = disputed(captured_payment(business=business, now=now))
        Dispute.objects.filter(pk=first.pk).update(respond_by=now)  # of the other business

        (item,) = overview(browser).attention

        assert (item.what, item.action) == ("2 disputes need a response", "View disputes")
        assert item.until == Dispute.objects.of(ada.business).earliest("respond_by").respond_by
        assert len(browser.get(item.address).context["page"].rows) == 2

    def test_leads_to_the_answer_of_a_single_dispute(self, browser, ada, now):
        dispute = disputed(captured_payment(business=ada.business, now=now))

        (item,) = overview(browser).attention

        assert (item.action, item.address) == ("Respond", f"/dashboard/disputes/{dispute.pk}/#answer")
        assert 'id="answer"' in browser.get(item.address).content.decode()
        assert f'href="{item.address}">Respond' in browser.get("/dashboard/disputes/").content.decode()

    def test_counts_settlements_that_wait_for_approval(self, browser, ada, bisi, now):
        for business in (ada.business, bisi.business):
            captured_payment(business=business, now=now)
        mine, _ = sorted(settle(), key=lambda batch: batch.business_id != ada.business_id)

        (item,) = overview(browser).attention
        listed = browser.get(item.address).content.decode()
        decide(mine, "approve")

        assert item.what == "1 settlement waits for approval"
        assert f"/dashboard/settlements/{mine.pk}/" in listed
        assert self.items(browser) == []

    def test_counts_held_deliveries(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business, enabled=False)
        make_deliveries(endpoint, 2, at=now, state=Delivery.State.HELD, next_attempt_at=None)

        assert self.items(browser) == ["2 deliveries are held"]

    def test_counts_transfers_without_a_decision(self, browser, ada, bisi, now):
        for business in (ada.business, ada.business, bisi.business):
            mismatched_money(business=business, now=now)

        (item,) = [each for each in overview(browser).attention if each.icon == "banknotes"]

        assert item.what == "2 transfers match no open payment"
        assert browser.get(item.address).content.decode().count("table__link") == 2

    def test_names_authorisations_that_expire_within_two_days(self, browser, ada, bisi, now):
        soon = authorised_payment(business=ada.business, now=now, amount=64_000)
        later = authorised_payment(business=ada.business, now=now)
        hers = authorised_payment(business=bisi.business, now=now)
        for payment, days in ((soon, 1), (later, 3), (hers, 1)):
            Transaction.objects.filter(pk=payment.pk).update(expires_at=now + timedelta(days=days))

        (item,) = overview(browser).attention

        assert item.what == "1 authorisation expires within 2 days"
        assert (item.why, item.until) == ("Capture before", now + timedelta(days=1))
        assert soon.reference in browser.get(item.address).content.decode()

    def test_names_keys_that_expire_soon_without_their_secrets(self, browser, ada, now):
        soon = ApiKeyFactory(business=ada.business, name="till", expires_at=now + timedelta(days=13))
        ApiKeyFactory(business=ada.business, name="web", expires_at=now + timedelta(days=15))
        ApiKeyFactory(business=ada.business, name="old", expires_at=now + timedelta(days=1), revoked_at=now)

        assert self.items(browser) == ["The API key till expires soon"]
        assert soon.secret not in page(browser)

    def test_asks_for_a_missing_key(self, browser, ada, now):
        ada.revoked_at = now
        ada.save()

        assert self.items(browser) == ["You have no active API keys"]


class TestFirstSteps:
    def test_are_shown_to_a_new_business(self, browser, ada):
        shown = page(browser)

        assert not overview(browser).first_steps.all_done
        assert 'href="/dashboard/payment-links/new/">Create payment link' in shown
        assert "Set up webhooks" in shown
        assert "No transactions yet" in shown
        assert shown.count("To do:") == 5

    def test_offer_to_pay_only_a_link(self, browser, api, ada, now):
        assert "Pay it yourself" not in page(browser)
        link_of(ada.business, now=now)
        assert "Pay it yourself" in page(browser)

        api.post("/api/payments", orders.card_payment())

        assert "Pay it yourself" not in page(browser)
        assert "Take a payment" in page(browser)

    def test_are_checked_when_done(self, browser, api, ada, now):
        def done():
            steps = overview(browser).first_steps
            return [
                steps.has_link, steps.has_paid, steps.has_called, steps.has_webhook, steps.has_delivered
            ]  # fmt: skip

        assert done() == [False, False, False, False, False]
        link_of(ada.business, now=now)
        assert done() == [True, False, False, False, False]
        api.get("/api/banks")
        assert done() == [True, False, True, False, False]
        api.post("/api/payments", orders.card_payment())
        assert done() == [True, True, True, False, False]
        endpoint = make_endpoint(business=ada.business)
        assert done() == [True, True, True, True, False]
        make_deliveries(endpoint, 1, state=Delivery.State.DELIVERED, delivered_at=now)
        assert done() == [True, True, True, True, True]
        assert "First steps" not in page(browser)


class TestPage:
    def test_follows_the_content_security_policy(self, browser, ada, now):
        captured_payment(business=ada.business, now=now)

        answer = browser.get("/dashboard/")

        audit = Audit(answer.content.decode())
        assert audit.findings == []
        assert len(audit.ids) == len(set(audit.ids))
        assert answer.content.decode().count("<h1") == 1
        assert "unsafe" not in answer["Content-Security-Policy"]
        assert "no-store" in answer["Cache-Control"]

    def test_loads_its_styles(self, browser):
        audit = Audit(page(browser))

        for address in audit.loads:
            if address.startswith("/static/"):
                assert Client().get(address).status_code == 200, address

    def test_works_without_a_trailing_slash(self, visitor):
        assert visitor.get("/dashboard")["Location"] == "/dashboard/"


class TestStats:
    def test_compare_with_the_period_before(self, browser, ada, now):
        before = now - timedelta(days=10)
        captured_payment(business=ada.business, now=before, amount=40_000)
        for _ in range(2):
            captured_payment(business=ada.business, now=now, amount=30_000)
        declined_payment(business=ada.business, now=now)

        volume, payments, rate, _ = browser.get("/dashboard/?days=7").context["overview"].stats

        assert (volume.value, volume.change) == ("600.00", Change("↑ 50.0%", "up", "from NGN 400.00"))
        assert (payments.value, payments.change) == ("3", Change("↑ 2", "up", "from 1"))
        assert (rate.value, rate.change) == ("66.7%", Change("↓ 33.3 pts", "down", "from 100.0%"))
        assert rate.note == "2 of 3 succeeded"

    def test_compare_the_balance_with_the_day_before_the_period(self, browser, ada, now):
        fill_wallet(ada.business, 50_000, at=now - timedelta(days=20))
        fill_wallet(ada.business, 30_000, at=now)

        changes = [
            browser.get(f"/dashboard/?days={days}").context["overview"].stats[3].change for days in (7, 30)
        ]

        assert changes == [Change("↑ NGN 300.00", "up", "from NGN 500.00"), NO_PAST]

    def test_of_ninety_days_have_no_period_before(self, browser, ada, now):
        captured_payment(business=ada.business, now=now - timedelta(days=100))
        captured_payment(business=ada.business, now=now)

        shown = browser.get("/dashboard/?days=90").context["overview"]

        assert [each.change for each in shown.stats[:3]] == [NO_PAST] * 3
        assert browser.get("/dashboard/?days=90").content.decode().count("Nothing earlier to compare") == 4
        assert shown.volume_chart.past == ""

    def test_link_to_what_they_count(self, browser, ada, now):
        captured_payment(business=ada.business, now=now)
        declined_payment(business=ada.business, now=now)

        counts = [
            browser.get(each.address).content.decode().count("<tr>") - 1
            for each in overview(browser).stats[:3]
        ]

        assert counts == [1, 2, 1]


class TestFailureReasons:
    def test_link_to_the_payments_that_they_count(self, browser, ada, now):
        for _ in range(3):
            declined_payment(business=ada.business, now=now)
        mismatched_money(business=ada.business, now=now)
        start(orders.payout(), business=ada.business, now=now)

        links = re.findall(r'href="(/dashboard/payments/\?status=failed&amp;code=[^"]*)"', page(browser))
        counts = [browser.get(unescape(link)).context["totals"].count for link in links]

        declines = overview(browser).declines
        assert {each.code for each in declines} == {"20051", "20013"}
        assert counts == [Count(each.count) for each in declines] == [Count(3), Count(1)]


class TestCharts:
    def test_show_successes_and_failures(self, browser, ada, now):
        captured_payment(business=ada.business, now=now, amount=70_000)
        for _ in range(2):
            declined_payment(business=ada.business, now=now)

        shown = overview(browser)

        assert shown.volume_chart.scale == ["NGN 1k", "750", "500", "250", "0"]
        assert (shown.volume_chart.card_path, shown.volume_chart.transfer_path) == ("M292 30h6v70h-6z", "")
        assert (shown.volume_chart.bars[-1].amount, shown.volume_chart.bars[-1].payments) == (
            "NGN 700.00",
            "1 payment",
        )
        assert [(each.code, each.count, each.share) for each in shown.declines] == [("20051", 2, 100)]

    def test_bars_link_to_the_payments_of_their_days(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now - timedelta(days=3))

        for days in (7, 30, 90):
            shown = browser.get(f"/dashboard/?days={days}")
            bars = shown.context["overview"].volume_chart.bars
            (bar,) = [each for each in bars if each.volume.count]
            address = f"payments/?status=success&amp;since={bar.first}&amp;until={bar.last}"

            assert address in shown.content.decode()
            assert payment.reference in browser.get(f"/dashboard/{unescape(address)}").content.decode()

    @pytest.mark.parametrize("days", [7, 30, 90])
    def test_every_point_is_a_link_whose_text_is_its_reading(self, browser, ada, now, days):
        for _ in range(2):
            captured_payment(business=ada.business, now=now, amount=70_000)

        answer = browser.get(f"/dashboard/?days={days}")

        points = re.search(r'<g class="chart__days">(.*?)</g>', answer.content.decode())[1]
        links = re.findall(r'<a href="[^"]+"><text>([^<]+)</text><rect x="[^"]+"/></a>', points)
        bars = answer.context["overview"].volume_chart.bars
        assert links == [f"{each.days}: {each.amount}, {each.payments}" for each in bars]
        assert links[-1].endswith(": NGN 1,400.00, 2 payments")

    def test_of_ninety_days_is_by_week(self, browser, ada, now):
        for ago in range(90):
            captured_payment(business=ada.business, now=now - timedelta(days=ago), amount=100)

        chart = browser.get("/dashboard/?days=90").context["overview"].volume_chart

        assert [each.volume.count for each in chart.bars] == [6] + [7] * 12


class TestRecentTransactions:
    def test_without_a_customer_show_the_method(self, browser, ada, now):
        captured_payment(business=ada.business, now=now)

        row = re.search(r"<tbody>(.*?)</tbody>", page(browser), re.DOTALL)[1]

        assert '<a class="table__link"' in row
        assert ">Payment<" not in row
        assert "4081" in re.search(r'<a class="table__link".*?</a>', row, re.DOTALL)[0]

    def test_link_payments_and_payouts(self, browser):
        text = page(browser)

        assert '<a class="section__more" href="/dashboard/payments/">All payments</a>' in text
        assert '<a class="section__more" href="/dashboard/payouts/">All payouts</a>' in text


def test_figures_of_payments_leave_out_payouts(browser, ada, now):
    declined_payment(business=ada.business, now=now)
    start(orders.payout(amount=50_051), business=ada.business, now=now)

    figures = overview(browser).figures

    assert (figures.payments, figures.failed, figures.finished) == (1, 1, 1)
