"""Requests for what a connector can never do: 400, the field that says so, and nothing stored."""

import pytest

from merchants.models import Business
from payments.models import CardOperation, Transaction
from tests import orders
from virtual_accounts.models import Session, VirtualAccount

PAYMENTS = "/api/payments"
WITHOUT_3DS = "tests.rails.AcquirerWithoutThreeDSecure"
LIMITED, HOSTED = "tests.rails.LimitedAcquirer", "tests.rails.HostedAcquirer"
COARSE = "tests.rails.CoarseAcquirer"
LIMITED_BANK, LIMITED_PROVIDER = "tests.rails.LimitedBank", "tests.rails.LimitedProvider"
HOUR = 3600

pytestmark = pytest.mark.django_db


def assert_not_supported(answer, *fields):
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (400, "not_supported"), problem
    assert [(each["field"], each["code"]) for each in problem["errors"]] == [
        (field, "not_supported") for field in fields
    ]
    assert problem["detail"] == " ".join(each["message"] for each in problem["errors"])


@pytest.mark.parametrize(
    ("acquirer", "order", "reason"),
    [
        (HOSTED, orders.card_payment(), ("source", "own page")),
        (HOSTED, orders.card_check(), ("source", "own page")),
        (LIMITED, orders.card_check(), ("request_type", "checked")),
        (LIMITED, orders.card_payment(capture=False), ("capture", "captured later")),
        (LIMITED, orders.card_payment(three_ds={"enabled": True}), ("3ds.enabled", "provider decides")),
        (WITHOUT_3DS, orders.card_payment(three_ds={"enabled": True}), ("3ds.enabled", "isn't available")),
        (LIMITED, orders.card_payment(currency="USD"), ("currency", "USD")),
        (LIMITED, orders.card_payment(amount=4_999), ("amount", "NGN 50.00 (5000)")),
        (LIMITED, orders.card_payment(amount=100_100), ("amount", "NGN 1,000.00 (100000)")),
        (LIMITED, orders.card_payment(amount=5_050), ("amount", "multiples of 100")),
    ],
)
def test_card_request_that_the_acquirer_can_never_process(api, settings, acquirer, order, reason):
    settings.CARD_ACQUIRER = acquirer
    field, says = reason

    answer = api.post(PAYMENTS, order)

    assert_not_supported(answer, field)
    assert says in answer.json()["detail"]
    assert not Transaction.objects.exists()


def test_payment_with_3ds_succeeds_if_its_business_lets_the_provider_decide(ada, api, settings):
    settings.CARD_ACQUIRER = LIMITED
    Business.objects.filter(pk=ada.business_id).update(provider_may_decide_three_ds=True)

    answer = api.post(PAYMENTS, orders.card_payment(three_ds={"enabled": True}))

    assert (answer.status_code, Transaction.objects.get().challenge_preference) == (201, "no_preference")


@pytest.mark.parametrize("amount", [5_000, 100_000])
def test_card_payment_within_the_limits_succeeds(api, settings, amount):
    settings.CARD_ACQUIRER = LIMITED

    assert api.post(PAYMENTS, orders.card_payment(amount=amount)).json()["status"] == "success"


def test_all_fields_are_reported_together(api, settings):
    settings.CARD_ACQUIRER = LIMITED

    answer = api.post(PAYMENTS, orders.card_payment(amount=1, capture=False, three_ds={"enabled": True}))

    assert_not_supported(answer, "amount", "capture", "3ds.enabled")


def test_connector_that_is_unreachable_still_refuses_what_it_can_never_do(api, settings):
    settings.CARD_ACQUIRER = "tests.rails.UnreachableLimitedAcquirer"

    never = api.post(PAYMENTS, orders.card_payment(capture=False))
    later = api.post(PAYMENTS, orders.card_payment())

    assert_not_supported(never, "capture")
    assert (later.status_code, later.json()["code"]) == (503, "rail_unavailable")


def test_payout_that_the_bank_can_never_make(api, settings):
    settings.PAYOUT_BANK = LIMITED_BANK

    assert_not_supported(api.post(PAYMENTS, orders.payout(amount=9_999)), "amount")
    assert not Transaction.objects.exists()
    assert api.post(PAYMENTS, orders.payout(amount=10_000)).status_code == 201


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"expiry_duration": 899}, "expiry_duration"),
        ({"expiry_duration": 8 * HOUR + 1}, "expiry_duration"),
        ({"amount": 9_999}, "amount"),
    ],
)
def test_transfer_payment_that_the_hosting_bank_can_never_take(api, settings, changes, field):
    settings.ACCOUNT_PROVIDER = LIMITED_PROVIDER
    account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()

    answer = api.post(PAYMENTS, orders.transfer_payment(account["id"]) | changes)

    assert_not_supported(answer, field)
    assert not Transaction.objects.exists()
    assert not Session.objects.exists()
    assert api.post(PAYMENTS, orders.transfer_payment(account["id"], expiry_duration=900)).status_code == 201


def test_transfer_payment_in_a_currency_that_the_hosting_bank_lacks(api, settings):
    account = api.post("/api/virtual-accounts", orders.dynamic_account(currency="USD")).json()
    settings.ACCOUNT_PROVIDER = LIMITED_PROVIDER

    answer = api.post(PAYMENTS, orders.transfer_payment(account["id"], currency="USD"))

    assert_not_supported(answer, "currency")
    assert not Transaction.objects.exists()


def test_virtual_account_in_a_currency_that_the_hosting_bank_lacks(api, settings):
    settings.ACCOUNT_PROVIDER = LIMITED_PROVIDER

    assert_not_supported(
        api.post("/api/virtual-accounts", orders.dynamic_account(currency="USD")), "currency"
    )
    assert not VirtualAccount.objects.exists()


def test_void_by_an_acquirer_without_voids(api, settings):
    order = orders.card_payment(capture=False)
    api.post(PAYMENTS, order)
    settings.CARD_ACQUIRER = LIMITED

    answer = api.post(f"{PAYMENTS}/{order['reference']}/void")

    assert_not_supported(answer, "void")
    assert not CardOperation.objects.exists()
    assert Transaction.objects.get().awaiting == "capture"


def test_capture_and_refund_of_an_amount_with_too_many_decimals(api, settings):
    settings.CARD_ACQUIRER = COARSE
    order = orders.card_payment(amount=50_000, capture=False)
    api.post(PAYMENTS, order)
    address = f"{PAYMENTS}/{order['reference']}"

    assert_not_supported(api.post(f"{address}/capture", {"amount": 20_001}), "amount")
    assert Transaction.objects.get().awaiting == "capture"
    assert api.post(f"{address}/capture", {"amount": 20_010}).json()["status"] == "success"
    assert_not_supported(api.post(f"{address}/refunds", {"reference": "rf-1", "amount": 1_001}), "amount")
    assert api.post(f"{address}/refunds", {"reference": "rf-1", "amount": 1_010}).status_code == 201


def test_partial_refund_by_an_acquirer_that_only_refunds_in_full(api, settings):
    settings.CARD_ACQUIRER = LIMITED
    order = orders.card_payment(amount=50_000)
    api.post(PAYMENTS, order)
    address = f"{PAYMENTS}/{order['reference']}/refunds"

    part = api.post(address, {"reference": "rf-1", "amount": 20_000})

    assert_not_supported(part, "amount")
    assert not CardOperation.objects.exists()
    assert api.post(address, {"reference": "rf-1"}).json()["status"] == "success"


@pytest.mark.parametrize(
    "order",
    [
        orders.card_payment(capture=False),
        orders.card_payment(three_ds={"enabled": True}),
        orders.card_payment(amount=100),
        orders.card_payment(currency="USD"),
        orders.card_check(),
    ],
    ids=["capture", "3-D Secure", "amount", "currency", "card check"],
)
def test_request_that_was_accepted_before_is_replayed(api, settings, order):
    first = api.post(PAYMENTS, order)
    settings.CARD_ACQUIRER = LIMITED

    again = api.post(PAYMENTS, order)

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    assert again["Idempotent-Replayed"] == "true"


def test_transfer_payment_and_account_that_were_accepted_before_are_replayed(api, settings):
    opening = orders.dynamic_account(currency="USD")
    account = api.post("/api/virtual-accounts", opening).json()
    order = orders.transfer_payment(account["id"], currency="USD", expiry_duration=60)
    payment = api.post(PAYMENTS, order).json()
    settings.ACCOUNT_PROVIDER = LIMITED_PROVIDER

    assert api.post(PAYMENTS, order).json() == payment
    assert api.post("/api/virtual-accounts", opening).json()["id"] == account["id"]


def test_different_request_with_a_used_reference_is_a_conflict(api, settings):
    order = orders.card_payment(capture=False)
    api.post(PAYMENTS, order)
    settings.CARD_ACQUIRER = LIMITED

    answer = api.post(PAYMENTS, order | {"amount": 60_000})

    assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_reference")
