"""Fixtures: accounts, payments, simulated transfers and events."""

import json

import pytest

from tests import orders
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery

ACCOUNTS = "/api/virtual-accounts"


@pytest.fixture
def dynamic(api):
    """Return the id of a dynamic account."""
    return api.post(ACCOUNTS, orders.dynamic_account()).json()["id"]


@pytest.fixture
def static(api):
    """Return a static account."""
    return api.post(ACCOUNTS, orders.static_account()).json()


@pytest.fixture
def pay_into(api):
    """Return a function that creates a payment into an account and returns it."""

    def pay(account_id, **changes):
        answer = api.post("/api/payments", orders.transfer_payment(account_id, **changes))
        assert answer.status_code == 201, answer.content
        return answer.json()

    return pay


@pytest.fixture
def simulate(api):
    """Return a function that simulates a transfer and returns the response."""

    def arrive(account_number, amount, **more):
        body = {"account_number": account_number, "amount": amount, **more}
        return api.post(f"{ACCOUNTS}/simulate", body)

    return arrive


@pytest.fixture
def events(ada):
    """Return a function that lists the merchant's events so far: name and data."""
    make_endpoint(business=ada.business)

    def list_events():
        bodies = [json.loads(delivery.body) for delivery in Delivery.objects.order_by("created_at", "id")]
        return [(body["event"], body["data"]) for body in bodies]

    return list_events
