"""The sandbox page: requests signed with the user's own key, and buttons that advance the clock."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from merchants.models import ApiKey
from payments.models import Transaction
from tests import orders
from tests.config.docs_site.test_pages import Audit
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory
from tests.link_payments import begin, make_link, pay_by_card, pay_by_transfer
from tests.orders import CHALLENGED_CARD
from tests.transactions import captured_payment, challenged_payment
from tests.unapplied import mismatched_money
from tests.webhooks.rows import make_delivery, make_endpoint

pytestmark = pytest.mark.django_db

SANDBOX = "/dashboard/sandbox/"


def send(client, document, target="/api/payments"):
    body = document if isinstance(document, str) else json.dumps(document)
    return client.post(SANDBOX, {"target": target, "body": body})


class TestPaymentLinks:
    def test_shows_the_demo_link_with_its_address(self, browser, api):
        assert b"/l/" not in browser.get(SANDBOX).content

        link = make_link(api, reference="demo-link")

        assert link.url in browser.get(SANDBOX).content.decode()

    def test_lets_attempts_expire(self, browser, api):
        link = make_link(api)
        waiting = [pay_by_card(begin(link), CHALLENGED_CARD), pay_by_transfer(begin(link))]
        pay_by_card(begin(make_link(api)))
        page = browser.get(SANDBOX)
        assert page.context["attempts"] == waiting[::-1]
        assert b"Let it expire now" in page.content

        for each in waiting:
            browser.post(f"{SANDBOX}expire/{each.pk}/")

        link.refresh_from_db()
        assert (link.uses_held, link.uses_paid) == (0, 0)
        assert {each.status for each in Transaction.objects.filter(payment_link=link)} == {"failed"}
        assert browser.get(SANDBOX).context["attempts"] == []


class TestRequest:
    @pytest.mark.parametrize(
        ("preset", "code"),
        [("success", "10000"), ("amount-51", "20051"), ("payout", "10000"), ("check", "10000")],
    )
    def test_sends_a_preset_through_the_real_api(self, browser, ada, preset, code):
        chosen = browser.get(SANDBOX, {"preset": preset}).context["preset"]

        answer = send(browser, chosen.body, chosen.target)

        made = Transaction.objects.get()
        assert chosen.name == preset
        assert made.business == ada.business
        assert answer.context["call"].document["response_code"] == made.response_code == code

    def test_shows_no_card_number_and_no_secret(self, browser, ada):
        answer = send(browser, orders.card_payment())

        call = answer.context["call"]
        assert "X-Signature" in call.request
        assert orders.GOOD_CARD not in call.request + call.response + call.string_to_sign
        assert '"408"' not in call.request
        assert ada.secret not in answer.content.decode()

    def test_shows_the_resulting_webhook(self, browser, ada):
        make_endpoint(business=ada.business)

        (delivery,) = send(browser, orders.card_payment()).context["deliveries"]

        assert delivery.event == "payment.success"

    @pytest.mark.parametrize("body", ["", "{", "[]", "\x00", '{"request_type": "payment"}', "x" * 8001])
    def test_never_fails_on_bad_input(self, browser, ada, body):
        assert send(browser, body).status_code == 200
        assert not Transaction.objects.exists()

    def test_calls_no_other_url(self, browser, ada):
        assert "call" not in send(browser, {}, "/api/balance").context

    def test_explains_a_missing_key(self, browser, ada):
        ApiKey.objects.update(expires_at=timezone.now() - timedelta(days=1))

        assert (
            "You have no active API key with full access"
            in send(browser, orders.card_payment()).content.decode()
        )
        assert not Transaction.objects.exists()

    def test_does_not_exist_in_production(self, browser, settings):
        settings.SANDBOX = False

        assert browser.get(SANDBOX).status_code == 404


class TestTransfers:
    def test_offer_pending_payments(self, browser, ada):
        mismatched_money(business=ada.business, now=timezone.now())
        transfer = browser.get(SANDBOX, {"preset": "transfer"}).context["preset"]
        send(browser, transfer.body)
        mismatch = browser.get(SANDBOX, {"preset": "mismatch"}).context["preset"]

        send(browser, mismatch.body, mismatch.target)

        waited = Transaction.objects.get(reference=transfer.document["reference"])
        assert (waited.status, waited.response_code) == ("failed", "20013")


class TestExpiry:
    def test_expires_payments_that_await_the_payer(self, browser, ada):
        waiting = challenged_payment(business=ada.business, now=timezone.now())

        browser.post(f"{SANDBOX}expire/{waiting.pk}/")

        waiting.refresh_from_db()
        assert waiting.status == "failed"

    def test_leaves_finished_payments_unchanged(self, browser, ada):
        done = captured_payment(business=ada.business, now=timezone.now())

        answer = browser.post(f"{SANDBOX}expire/{done.pk}/", follow=True)

        done.refresh_from_db()
        assert "This payment is not waiting for anything that can be advanced." in answer.content.decode()
        assert done.status == "success"


class TestRetry:
    def test_reports_a_delivery_without_a_planned_attempt(self, browser, ada):
        delivery = make_delivery(make_endpoint(business=ada.business), state="dead")

        answer = browser.post(f"{SANDBOX}retry/{delivery.pk}/", follow=True)

        assert "No attempt of this event is planned for later." in answer.content.decode()


class TestViewer:
    def test_sends_nothing(self, ada):
        viewer = signed_in(MemberFactory(business=ada.business, role="viewer").user)

        assert send(viewer, orders.card_payment()).status_code == 403
        assert "Send request" not in viewer.get(SANDBOX).content.decode()


class TestPage:
    @pytest.mark.parametrize("preset", ["success", "</script>", "\x00", "mismatch"])
    def test_is_well_formed_for_every_preset(self, browser, ada, preset):
        shown = browser.get(SANDBOX, {"preset": preset}).content.decode()

        assert Audit(shown).findings == []
