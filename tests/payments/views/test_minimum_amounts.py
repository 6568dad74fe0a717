"""The smallest payment that a business has set for each currency."""

from urllib.parse import urlsplit

import pytest
from django.test import Client

from merchants.api import authentication
from merchants.api.key_cache import KeyCache
from merchants.models import Business
from payments.models import Checkout, PaymentLink, Transaction
from tests import orders
from tests.wallets import fill_wallet

pytestmark = pytest.mark.django_db
SMALLEST = 50_000


def set_minimum(business):
    Business.objects.filter(pk=business.pk).update(minimum_amounts={"NGN": SMALLEST})


def errors(answer):
    assert (answer.status_code, answer.json()["code"]) == (400, "amount_too_small"), answer.json()
    return [(each["field"], each["code"]) for each in answer.json()["errors"]]


@pytest.mark.parametrize("method", ["card", "transfer"])
def test_smaller_payment_is_refused_and_stores_nothing(api, ada, method):
    account = orders.dynamic_account()
    set_minimum(ada.business)
    create = {
        "card": orders.card_payment,
        "transfer": lambda **fields: orders.transfer_payment(
            api.post("/api/virtual-accounts", account).json()["id"], **fields
        ),
    }[method]

    refused = api.post("/api/payments", create(amount=SMALLEST - 1))

    assert errors(refused) == [("amount", "amount_too_small")]
    assert "NGN 500.00" in refused.json()["errors"][0]["message"]
    assert not Transaction.objects.exists()
    assert api.post("/api/payments", create(amount=SMALLEST)).status_code == 201


def test_payment_from_before_is_replayed(api, ada, monkeypatch):
    body = orders.card_payment(amount=SMALLEST - 1)
    api.post("/api/payments", body)
    set_minimum(ada.business)
    monkeypatch.setattr(authentication, "key_cache", KeyCache())  # holds the business for five seconds

    assert api.post("/api/payments", body).status_code == 200


def test_payouts_and_checks_and_other_currencies_have_no_minimum(api, ada):
    set_minimum(ada.business)
    fill_wallet(ada.business, 100_000)

    assert api.post("/api/payments", orders.payout(amount=1_000)).status_code == 201
    assert api.post("/api/payments", orders.card_check()).status_code == 201
    assert api.post("/api/payments", orders.card_payment(amount=100, currency="USD")).status_code == 201


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"amount": SMALLEST - 1}, "amount"),
        ({"amount": None, "amount_range": {"min": SMALLEST - 1, "max": SMALLEST}}, "amount_range.min"),
    ],
)
def test_smaller_link_is_refused(api, ada, fields, path):
    set_minimum(ada.business)
    body = {name: value for name, value in orders.payment_link(**fields).items() if value is not None}

    assert errors(api.post("/api/payment-links", body)) == [(path, "amount_too_small")]
    assert not PaymentLink.objects.exists()


def test_payer_of_an_older_link_enters_no_less(api, ada):
    body = orders.payment_link(amount_range={"min": 10_000, "max": 100_000})
    del body["amount"]
    address = urlsplit(api.post("/api/payment-links", body).json()["url"]).path
    set_minimum(ada.business)
    entered = {"name": "Ada Obi", "email": "ada@example.com", "method": "card", "amount": "499.99"}

    page = Client(headers={"User-Agent": "Mozilla/5.0"}).post(address, entered, follow=True).content.decode()

    assert "Enter an amount of NGN 500.00 to NGN 1,000.00." in page
    assert not Checkout.objects.exists()
