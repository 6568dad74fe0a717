"""The overview: figures of the business, and texts for an empty account."""

from datetime import timedelta
from html import unescape

import pytest
from django.test import Client

from merchants.models import Business
from payments.models import Transaction
from tests import orders
from tests.config.docs_site.test_pages import Audit
from tests.factories import ApiKeyFactory
from tests.transactions import captured_payment, challenged_payment, start
from tests.webhooks.rows import make_deliveries, make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

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
        assert figures.success_rate == "80.0 %"
        assert "NGN 1,215.00" in page(browser)

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
        assert (seen.webhook.endpoint, seen.webhook.waiting) == (None, 0)
        for hers in (payment.reference, "ada.example", ada.public_id, "Ada Books"):
            assert hers in page(browser)
            assert hers not in page(other_browser)


class TestRecent:
    def test_shows_the_ten_newest(self, browser, ada, now):
        made = [
            captured_payment(business=ada.business, now=now - timedelta(minutes=number)).reference
            for number in range(12)
        ]

        assert [each.reference for each in overview(browser).recent] == made[:10]

    def test_shows_type_amount_and_status(self, browser, ada, now):
        start(orders.payout(amount=250_000), business=ada.business, now=now)

        shown = page(browser).split("<tbody>")[1]

        assert "Payout" in shown
        assert "NGN 2,500.00<" in shown
        assert '<span class="status status--' in shown


class TestUntrustedText:
    def test_is_escaped(self, browser, ada, ada_member, now):
        payment = captured_payment(business=ada.business, now=now)
        Transaction.objects.filter(pk=payment.pk).update(reference=NASTY)
        Business.objects.filter(pk=ada.business_id).update(name=NASTY)
        ApiKeyFactory(business=ada.business, name=NASTY)
        make_endpoint(business=ada.business, url=f"https://ada.example/{NASTY}")

        shown = page(browser)

        assert "<script>" not in shown
        assert (
            unescape(shown).count(NASTY) == 7
        )  # title, menu, heading, reference and its title, key, address
        assert Audit(shown).findings == []


class TestWebhook:
    def test_counts_no_test_events(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        over = {"next_attempt_at": None, "subject": None}
        make_deliveries(endpoint, 1, at=now, subject=None)
        make_deliveries(endpoint, 1, at=now, state=Delivery.State.TEST_FAILED, **over)
        make_deliveries(endpoint, 1, at=now, state=Delivery.State.DELIVERED, delivered_at=now, **over)

        health = overview(browser).webhook

        assert (health.waiting, health.dead, health.delivered, health.failed) == (0, 0, 0, 0)

    def test_counts_deliveries_by_their_state(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business, url="https://ada.example/hooks")
        make_deliveries(endpoint, 2, at=now)
        make_deliveries(endpoint, 3, at=now, state=Delivery.State.DEAD, next_attempt_at=None)
        make_deliveries(endpoint, 1, at=now, state=Delivery.State.DELIVERED, delivered_at=now)

        health = overview(browser).webhook

        assert (health.waiting, health.dead, health.held) == (2, 3, 0)
        assert "https://ada.example/hooks" in page(browser)
        assert "3 deliveries have failed" in page(browser)
        assert 'href="/dashboard/webhooks/replay/"' in page(browser)

    def test_summarises_the_last_day(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        delivered = {"state": Delivery.State.DELIVERED, "delivered_at": now, "next_attempt_at": None}
        make_deliveries(endpoint, 4, at=now - timedelta(hours=1), **delivered)
        make_deliveries(endpoint, 5, at=now - timedelta(hours=30), **delivered)
        make_deliveries(endpoint, 2, at=now - timedelta(hours=2), attempts_made=1)
        make_deliveries(endpoint, 1, at=now, next_attempt_at=now + timedelta(hours=1))

        health = overview(browser).webhook

        assert (health.delivered, health.failed) == (4, 2)
        assert health.due_since == now - timedelta(hours=2)
        assert 'href="/dashboard/webhooks/deliveries/"' in page(browser)

    def test_shows_that_it_is_disabled(self, browser, ada):
        make_endpoint(business=ada.business, enabled=False)

        assert "Disabled, deliveries are held" in page(browser)


class TestKeys:
    def test_are_shown_without_secrets(self, browser, ada, now):
        other = ApiKeyFactory(business=ada.business, name="till", expires_at=now + timedelta(days=1))
        ended = ApiKeyFactory(business=ada.business, revoked_at=now)
        endpoint = make_endpoint(business=ada.business)

        shown = page(browser)

        assert ada.public_id in shown
        assert other.public_id in shown
        assert "till" in shown
        assert ended.public_id not in shown
        for secret in (ada.secret, other.secret, endpoint.hash_key):
            assert secret not in shown

    def test_that_are_missing_can_be_created(self, browser, ada, now):
        ada.revoked_at = now
        ada.save()

        assert f"rotate_api_key --business {ada.business_id}" in page(browser)


class TestFirstSteps:
    def test_are_shown_to_a_new_business(self, browser, ada):
        shown = page(browser)

        assert not overview(browser).first_steps.all_done
        assert f"sign_request GET /api/banks --api-key {ada.public_id}" in shown
        assert "Set up webhooks" in shown
        assert "No transactions yet" in shown
        assert shown.count("To do:") == 4

    def test_are_checked_when_done(self, browser, api, ada, now):
        def done():
            steps = overview(browser).first_steps
            return [steps.has_called, steps.has_paid, steps.has_webhook, steps.has_delivered]

        assert done() == [False, False, False, False]
        api.get("/api/banks")
        assert done() == [True, False, False, False]
        api.post("/api/payments", orders.card_payment())
        assert done() == [True, True, False, False]
        endpoint = make_endpoint(business=ada.business)
        assert done() == [True, True, True, False]
        make_deliveries(endpoint, 1, state=Delivery.State.DELIVERED, delivered_at=now)
        assert done() == [True, True, True, True]
        assert "First steps completed" in page(browser)
        assert page(browser).count("Done:") == 4


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


class TestCharts:
    def test_show_successes_and_failures(self, browser, ada, now):
        captured_payment(business=ada.business, now=now, amount=70_000)
        for _ in range(2):
            declined_payment(business=ada.business, now=now)

        shown = overview(browser)

        assert shown.volume_chart.top == 100_000
        assert shown.volume_chart.series == ["M29 100V30", ""]
        assert "NGN 700.00 by card" in shown.volume_chart.tooltips[-1]
        assert [(each.code, each.count, each.share) for each in shown.declines] == [("20051", 2, 100)]
