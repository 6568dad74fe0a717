"""Both providers configured, and a payment and a payout there whose outcomes aren't known."""

import pytest

from payments.models import Transaction
from tests import orders
from tests.connectors import provider_webhooks
from tests.wallets import fill_wallet


@pytest.fixture
def providers(settings, monkeypatch):
    provider_webhooks.configure(settings, monkeypatch)


@pytest.fixture
def payment(api, providers):
    made = api.post("/api/payments", orders.card_payment(reference="order-1")).json()
    assert made["status"] == "pending"
    return Transaction.objects.get(reference="order-1")


@pytest.fixture
def payout(ada, api, providers):
    fill_wallet(ada.business, 1_000_000)
    made = api.post("/api/payments", orders.payout(reference="payout-1")).json()
    assert made["status"] == "pending"
    return Transaction.objects.get(reference="payout-1")
