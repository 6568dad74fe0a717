"""A 409 for a reused reference names the fields that differ from the first request."""

from datetime import timedelta

import pytest
from django.utils import timezone

from payments.models import Transaction
from payments.services.replays import idempotency
from tests import orders
from tests.orders import GOOD_CARD
from tests.wallets import fill_wallet

PAYMENTS = "/api/payments"
OTHER_CARD = "4000000000001000"


def differs(api, target, first, second):
    """Send two requests with the same reference and return what the second answer names."""
    assert api.post(target, first).status_code == 201
    answer = api.post(target, second)
    assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_reference")
    assert answer.json()["existing"]["id"]
    return answer.json()["differs"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"amount": 60_000}, ["amount"]),
        ({"amount": 60_000, "currency": "USD"}, ["amount", "currency"]),
        ({"narration": "Other"}, ["narration"]),
        ({"metadata": {"a": "b"}}, ["metadata"]),
        ({"redirect_url": "https://other.example/"}, ["redirect_url"]),
        ({"capture": False}, ["capture"]),
        ({"customer": {"reference": "c-1", "email": "a@example.com"}}, ["customer"]),
        ({"source": orders.card_source(pan=OTHER_CARD)}, ["source"]),
        ({"source": orders.card_source(name="Someone Else")}, ["source"]),
        (
            {"source": orders.card_source(pan=OTHER_CARD), "amount": 60_000},
            ["amount"],
        ),  # no oracle of numbers
        ({"3ds": {"enabled": True}}, ["3ds"]),
    ],
)
def test_of_a_card_payment(api, changes, names):
    order = orders.card_payment(reference="order-1")

    found = differs(api, PAYMENTS, order, order | changes)

    assert (found == names) or (found == ["3ds", "source"] and names == ["3ds"])


@pytest.mark.django_db
def test_of_another_kind_of_request(api, ada):
    fill_wallet(ada.business, 100_000)

    found = differs(
        api, PAYMENTS, orders.payout(reference="order-1"), orders.card_payment(reference="order-1")
    )

    assert {"request_type", "payment_method", "source"} <= {*found}
    assert "reference" not in found


@pytest.mark.django_db
def test_of_a_card_that_is_no_longer_compared(api):
    order = orders.card_payment(reference="order-1")
    api.post(PAYMENTS, order)
    Transaction.objects.update(created_at=timezone.now() - timedelta(hours=25))
    list(idempotency.erase_card_number_hashes(now=timezone.now()))

    same, other = api.post(PAYMENTS, order), api.post(PAYMENTS, order | {"amount": 60_000})

    assert same.json()["differs"] == ["source"]
    assert other.json()["differs"] == ["amount", "source"]
    assert GOOD_CARD not in same.content.decode()


@pytest.mark.django_db
def test_of_a_payout(api, ada):
    fill_wallet(ada.business, 100_000)
    first = orders.payout(reference="order-1")
    other = first | {"customer": first["customer"] | {"name": "Other Name"}, "amount": 700}

    assert differs(api, PAYMENTS, first, other) == ["amount", "customer"]


@pytest.mark.django_db
def test_of_a_transfer_payment(api):
    accounts = [api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"] for _ in range(2)]
    first, other = (orders.transfer_payment(each, reference="order-1") for each in accounts)

    assert differs(api, PAYMENTS, first, other) == ["payment_method_id"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ({"amount": 100}, {"amount": 200}, ["amount"]),
        ({"amount": 100, "reason": "a"}, {"amount": 100, "reason": "b"}, ["reason"]),
        ({}, {"reason": "b"}, ["reason"]),
        ({"amount": 100}, {}, ["amount"]),
    ],
)
def test_of_a_refund(api, first, second, names):
    api.post(PAYMENTS, orders.card_payment(reference="order-1"))

    found = differs(
        api, f"{PAYMENTS}/order-1/refunds", {"reference": "r-1"} | first, {"reference": "r-1"} | second
    )

    assert found == names


@pytest.mark.django_db
def test_of_a_refund_of_another_payment(api):
    for reference in ("order-1", "order-2"):
        api.post(PAYMENTS, orders.card_payment(reference=reference))
    refund = {"reference": "r-1", "amount": 100}
    api.post(f"{PAYMENTS}/order-1/refunds", refund)

    answer = api.post(f"{PAYMENTS}/order-2/refunds", refund)

    assert (answer.status_code, answer.json()["differs"]) == (409, ["payment_reference"])


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"first_name": "Other"}, ["first_name"]),
        ({"bvn": "22200000000"}, ["bvn"]),
        ({"dob": "1980-01-01", "email": "other@example.com"}, ["dob", "email"]),
        ({"metadata": {"a": "b"}}, ["metadata"]),
    ],
)
def test_of_a_virtual_account(api, changes, names):
    account = orders.static_account(reference="account-1")

    assert differs(api, "/api/virtual-accounts", account, account | changes) == names


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"amount": 2_000_000}, ["amount"]),
        ({"title": "Other", "description": "More"}, ["description", "title"]),
        ({"max_uses": 3}, ["max_uses"]),
        ({"transfer_window": 3600}, ["transfer_window"]),
        ({"slug": "another-slug"}, ["slug"]),
    ],
)
def test_of_a_payment_link(api, changes, names):
    link = orders.payment_link(reference="link-1")

    assert differs(api, "/api/payment-links", link, link | changes) == names


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("first", "second"), [({"amount": 100}, {"amount": 200}), ({}, {"amount": 200}), ({"amount": 100}, {})]
)
def test_of_a_capture(api, first, second):
    api.post(PAYMENTS, orders.card_payment(reference="order-1", capture=False))
    api.post(f"{PAYMENTS}/order-1/capture", first)

    answer = api.post(f"{PAYMENTS}/order-1/capture", second)

    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["differs"]) == (409, "invalid_state", ["amount"])
    assert f"another amount: {first.get('amount', 50_000)}." in problem["detail"]


@pytest.mark.django_db
@pytest.mark.parametrize(("first", "second"), [("capture", "void"), ("void", "capture")])
def test_of_a_capture_and_a_void(api, first, second):
    """No field differs: the problem says what was done instead."""
    api.post(PAYMENTS, orders.card_payment(reference="order-1", capture=False))
    api.post(f"{PAYMENTS}/order-1/{first}")

    problem = api.post(f"{PAYMENTS}/order-1/{second}").json()

    assert (problem["code"], "differs" in problem) == ("invalid_state", False)
    assert {"capture": "was captured", "void": "Payment voided"}[first] in problem["detail"]
