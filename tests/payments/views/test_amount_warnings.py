"""Warnings of the sandbox about amounts that are valid, but probably a mistake."""

import json

import pytest

from tests import orders
from tests.wallets import fill_wallet


def created(api, target, body, amount):
    """Send a request with an amount as it is written, and return its answer."""
    return api.post(target, json.dumps(body | {"amount": "AMOUNT"}).replace('"AMOUNT"', amount).encode())


@pytest.fixture
def requests(api, ada):
    """Return every kind of request that has an amount."""
    fill_wallet(ada.business, 100_000)
    account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()
    api.post("/api/payments", orders.card_payment(reference="paid"))
    return {
        "card": ("/api/payments", orders.card_payment()),
        "transfer": ("/api/payments", orders.transfer_payment(account["id"])),
        "payout": ("/api/payments", orders.payout()),
        "refund": ("/api/payments/paid/refunds", {"reference": "refund-1"}),
    }


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["card", "transfer", "payout", "refund"])
@pytest.mark.parametrize(
    ("amount", "codes"),
    [
        ("99", ["amount_below_one_unit"]),
        ("2500.0", ["amount_written_as_decimal"]),
        ("25.0", ["amount_below_one_unit", "amount_written_as_decimal"]),
        ("100", []),
    ],
)
def test_answers_to_creations_and_replays_warn(api, requests, kind, amount, codes):
    target, body = requests[kind]

    first, replay = created(api, target, body, amount), created(api, target, body, amount)

    assert (first.status_code, replay.status_code) == (201, 200)
    for answer in (first, replay):
        assert [each["code"] for each in answer.json().get("warnings", [])] == codes


@pytest.mark.django_db
def test_message_says_what_to_send(api):
    answer = created(api, "/api/payments", orders.card_payment(), "2500.0")

    assert answer.json()["warnings"][0]["message"].endswith("NGN 25.00. For NGN 2,500.00, send 250000.")


@pytest.mark.django_db
def test_links_warn_of_each_amount(api):
    ranged = orders.payment_link(amount=..., amount_range={"min": 20_000.0, "max": 50_000})

    fixed = created(api, "/api/payment-links", orders.payment_link(), "20000.0").json()
    [warning] = api.post("/api/payment-links", ranged).json()["warnings"]

    assert [each["code"] for each in fixed["warnings"]] == ["amount_written_as_decimal"]
    assert warning["message"].startswith("amount_range.min was written")


@pytest.mark.django_db
def test_lookups_and_lists_do_not_warn(api):
    created(api, "/api/payments", orders.card_payment(reference="order-1"), "25.0")

    assert "warnings" not in api.get("/api/payments/order-1").json()
    assert "warnings" not in api.get("/api/payments").json()["data"][0]


@pytest.mark.django_db
def test_production_does_not_warn(api, settings):
    settings.SANDBOX = False

    answer = created(api, "/api/payments", orders.payout(), "25.0")

    assert "warnings" not in answer.json()
