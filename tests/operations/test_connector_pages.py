"""The administration's page of a connector."""

from datetime import timedelta

import pytest
from django.utils import timezone

from connectors.registry import EXAMINATIONS
from kit.connectors.remarks import Remark
from payments import rails
from payments.models import RailBlock, Transaction
from tests import orders
from tests.connectors import provider_webhooks
from tests.connectors.paystack.connected import paystack_connected
from tests.dashboard.people import signed_in
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

PAGE = "/admin/connector/checkout/"


@pytest.fixture
def staff():
    return signed_in(UserFactory(is_staff=True, is_superuser=True))


@pytest.fixture
def checkout(settings, monkeypatch):
    provider_webhooks.configure(settings, monkeypatch)


def pay(api):
    return api.post("/api/payments", orders.card_payment()).json()["reference"]


def test_shows_whom_it_is_for_and_what_is_open(staff, api, checkout):
    unknown = pay(api)

    shown = staff.get(PAGE).content.decode()

    assert "all businesses" in shown
    assert f"checkout:{provider_webhooks.CHANNEL}" in shown
    assert "1, the oldest for 0 minutes" in shown
    assert unknown in shown
    assert "checkout" in staff.get("/admin/connector/").content.decode().lower()


def test_shows_a_block_the_last_answers_and_the_lag_of_webhooks(staff, api, client, checkout):
    reference = pay(api)
    payment = Transaction.objects.get(reference=reference)
    RailBlock.objects.create(
        id=payment.pk,
        connector="checkout",
        account="checkout:a",
        reason="The key is revoked.",
        since=timezone.now(),
        probed_at=timezone.now(),
    )
    provider_webhooks.send(client, provider_webhooks.CHECKOUT, provider_webhooks.about(payment))
    provider_webhooks.process()

    shown = staff.get(PAGE).content.decode()

    assert "The key is revoked." in shown
    assert "Every outcome is known." in shown
    assert f"/admin/payments/railblock/{payment.pk}/unblock/" in shown
    assert "Payment completed" in shown
    assert "p95 0." in shown


def test_of_an_unconfigured_connector_opens(staff, settings):
    settings.CHECKOUT_SECRET_KEY = ""

    assert "Not configured" in staff.get(PAGE).content.decode()
    assert staff.get("/admin/connector/nobody/").status_code == 404


@pytest.mark.parametrize("name", sorted({*rails.ACQUIRERS, *rails.BANKS}))
def test_every_connector_has_a_page(staff, name):
    assert staff.get(f"/admin/connector/{name}/").status_code == 200


def test_refused_capture_of_a_success_is_listed(staff, api, client, checkout):
    payment = Transaction.objects.get(reference=pay(api))
    refused = provider_webhooks.about(payment, "payment_capture_declined")
    provider_webhooks.send(client, provider_webhooks.CHECKOUT, refused)
    provider_webhooks.process()
    assert Transaction.objects.get().status == "success"

    def listed():
        return payment.reference in staff.get("/admin/connectors/refusedcapture/").content.decode()

    assert listed()
    assert "Captures refused by the acquirer" in staff.get("/admin/").content.decode()
    assert staff.get(f"/admin/connectors/refusedcapture/{payment.pk}/change/").status_code == 200

    captured = provider_webhooks.about(payment, "payment_captured", event_id="evt_" + "b" * 26)
    provider_webhooks.send(client, provider_webhooks.CHECKOUT, captured)
    provider_webhooks.process()
    assert not listed()


def test_refused_capture_that_is_announced_after_the_capture_that_succeeded_is_not_listed(
    staff, api, client, checkout
):
    payment = Transaction.objects.get(reference=pay(api))
    for kind, event in (("payment_captured", "b"), ("payment_capture_declined", "a")):
        told = provider_webhooks.about(payment, kind, event_id="evt_" + event * 26)
        provider_webhooks.send(client, provider_webhooks.CHECKOUT, told)
        provider_webhooks.process()

    assert payment.reference not in staff.get("/admin/connectors/refusedcapture/").content.decode()


def test_draws_the_lag_of_webhooks_by_hour(staff, api, client, checkout):
    assert "Webhook lag" not in staff.get(PAGE).content.decode()
    payment = Transaction.objects.get(reference=pay(api))
    provider_webhooks.send(client, provider_webhooks.CHECKOUT, provider_webhooks.about(payment))
    provider_webhooks.process()

    assert "Seconds from a webhook to its query by hour" in staff.get(PAGE).content.decode()


def test_shows_where_virtual_accounts_are_opened(staff, api, settings):
    with paystack_connected(settings, api, opens_accounts=True) as paystack:
        settings.PAYOUT_BANK = "sandbox"
        paystack.plan("POST /customer: lose_and_cut")
        api.post("/api/virtual-accounts", orders.static_account())

        shown = staff.get("/admin/connector/paystack/").content.decode()

        assert "Virtual accounts unanswered" in shown
        assert "paystack:463433" in shown
        assert "/admin/connector/paystack/" in staff.get("/admin/connector/").content.decode()


class TestConnection:
    def test_shows_what_is_wrong(self, staff, monkeypatch):
        said = [
            Remark("checkout key", "It is accepted."),
            Remark("checkout channel", "It is off.", "Turn it on."),
        ]
        monkeypatch.setitem(EXAMINATIONS, "checkout", lambda: iter(said))

        shown = staff.post(f"{PAGE}test/").content.decode()

        assert "It is accepted." in shown
        assert "Turn it on." in shown

    def test_needs_the_right_to_end_blocks(self, db):
        other = signed_in(UserFactory(is_staff=True))

        assert other.post(f"{PAGE}test/").status_code == 403
        assert other.post(f"{PAGE}ask/").status_code == 403
        assert "Test connection" not in other.get(PAGE).content.decode()


def test_queries_open_orders_now(staff, api, checkout):
    payment = Transaction.objects.get(reference=pay(api))
    Transaction.objects.filter(pk=payment.pk).update(next_query_at=timezone.now() + timedelta(hours=1))

    shown = staff.post(f"{PAGE}ask/", follow=True).content.decode()

    payment.refresh_from_db()
    assert "1 query is due now." in shown
    assert payment.next_query_at <= timezone.now()
