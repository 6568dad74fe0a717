"""Another integration behind the same connector: what one integration has is never told to another."""

from dataclasses import replace

import pytest

from kit.connectors import connectors
from payments.models import CardOperation, Transaction
from tests.connectors.paystack.connected import paystack_connected, reference_of
from tests.connectors.paystack.shop import Shop

pytestmark = pytest.mark.django_db

OTHER_KEY = "sk_test_another_key"


@pytest.fixture
def paystack(settings, api, takes_cards):
    with paystack_connected(settings, api) as connected:
        yield connected


@pytest.fixture
def reconfigure(settings, paystack):
    """Return a function that restarts the service with other settings."""

    def change(**changes):
        for name, value in changes.items():
            setattr(settings, f"PAYSTACK_{name}", value)
        connectors._made.cache_clear()

    return change


@pytest.fixture
def paid(paystack):
    """Return the reference of a successful card payment."""
    shop = Shop(paystack)
    shop.come_back(shop.enter(shop.go()))
    assert shop.outcome() == ("success", "10000")
    return shop.payment.reference


@pytest.fixture
def opened(paystack, paid):
    """Return a payout and a refund whose orders never arrived."""
    paystack.plan("POST /transfer: lose_and_cut", "POST /refund: lose_and_cut")
    payout = paystack.pay_out()
    refund = ask_for_refund(paystack, paid, "rf-1").json()
    assert (payout["status"], refund["status"]) == ("pending", "pending")
    return payout, refund


def ask_for_refund(paystack, paid, reference):
    return paystack.api.post(f"/api/payments/{paid}/refunds", {"reference": reference, "amount": 10_000})


def test_is_told_nothing_of_open_orders(paystack, paid, opened, reconfigure):
    reconfigure(INTEGRATION="1")
    before = paystack.simulator.calls.total()

    refused = ask_for_refund(paystack, paid, "rf-2")
    for _ in range(2):
        paystack.requery_later()

    assert paystack.simulator.calls.total() == before
    assert (refused.status_code, refused.json()["code"]) == (503, "rail_unavailable")
    assert paystack.again(opened[0])["status"] == "pending"
    assert CardOperation.objects.get().status == "pending"


def test_is_the_same_one_with_another_key(paystack, paid, opened, reconfigure):
    integration = paystack.simulator.integration
    integration.settings = replace(integration.settings, secret_key=OTHER_KEY)
    reconfigure(SECRET_KEY=OTHER_KEY)

    again = ask_for_refund(paystack, paid, "rf-2")
    for _ in range(4):
        paystack.requery_later()

    assert again.status_code == 201
    assert paystack.paid() == {reference_of(opened[0]): 250_000}
    assert set(CardOperation.objects.values_list("status", flat=True)) == {"success"}
    assert not Transaction.objects.unanswered().exists()


def test_is_asked_again_once_its_settings_are_back(paystack, opened, reconfigure):
    reconfigure(INTEGRATION="1")
    paystack.requery_later()

    reconfigure(INTEGRATION=str(paystack.simulator.integration.settings.integration))
    for _ in range(3):
        paystack.requery_later(after=600)

    assert paystack.paid() == {reference_of(opened[0]): 250_000}
    assert len(paystack.simulator.integration.tables.refunds) == 1
