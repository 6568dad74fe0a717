"""Cards sent to Paystack from here (`PAYSTACK_CARDS=direct`): what the payer is asked for, and how charges end."""

from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.test import Client

from payments.models import Transaction
from tests import orders
from tests.connectors.paystack.client import AT_BANK, NO_FUNDS, SUCCESS, WITH_OTP
from tests.connectors.paystack.connected import PAYMENTS, paystack_connected
from tests.payers import AGENT

pytestmark = pytest.mark.django_db


@pytest.fixture
def paystack(settings, api):
    settings.CARD_ACQUIRER, settings.PAYSTACK_CARDS = "paystack", "direct"
    settings.PAYSTACK_FALLBACK_EMAIL = "payer@shop.example"
    with paystack_connected(settings, api) as connected:
        yield connected
    call_command("check_ledger")


def pay(paystack, card=SUCCESS):
    source = orders.card_source(pan=card["number"], cvv=card["cvv"])
    answer = paystack.api.post(PAYMENTS, orders.card_payment(source=source))
    assert answer.status_code == 201, answer.content
    return answer.json()


def enter(payment, **form):
    """Enter something on our page, and return where that leads."""
    browser = Client(headers={"User-Agent": AGENT})
    return browser.post(urlsplit(payment["redirect_link"]).path, form).headers["Location"]


def outcome(payment):
    return payment["status"], payment["response_code"], payment.get("gateway_code", "")


@pytest.mark.parametrize(
    ("card", "expected"),
    [(SUCCESS, ("success", "10000", "00")), (NO_FUNDS, ("failed", "20051", "51"))],
)
def test_is_decided_at_once(paystack, card, expected):
    assert outcome(pay(paystack, card)) == expected


def test_payer_enters_pin_and_code(paystack, caplog):
    payment = pay(paystack, WITH_OTP)
    assert payment["status"] == "pending"

    enter(payment, kind="pin", pin="1234")
    enter(payment, kind="otp", code="111111")  # wrong, and asked for again
    assert paystack.again(payment)["status"] == "pending"
    enter(payment, kind="otp", code="123456")

    assert outcome(paystack.again(payment)) == ("success", "10000", "00")
    secrets = (WITH_OTP["number"], "1234 ", "123456")
    assert not any(secret in caplog.text for secret in secrets)


def test_payer_goes_to_the_bank_and_never_comes_back(paystack):
    payment = pay(paystack, AT_BANK)
    browser = Client(headers={"User-Agent": AGENT})
    there = browser.get(urlsplit(payment["redirect_link"]).path).headers["Location"]
    paystack.simulator.handle("POST", urlsplit(there).path, {}, b"action=approve")

    browser.get(f"{urlsplit(payment['redirect_link']).path}/return")

    assert outcome(paystack.again(payment)) == ("success", "10000", "00")


def test_lost_answer_is_queried_and_the_card_is_never_sent_again(paystack):
    paystack.plan("POST /charge: cut")

    payment = pay(paystack)
    assert payment["status"] == "pending"
    paystack.requery()

    assert outcome(paystack.again(payment)) == ("success", "10000", "00")
    assert paystack.simulator.calls["POST /charge"] == 1


@pytest.mark.parametrize("status", [200, 404, 408, 409])
def test_error_that_is_no_definite_refusal_is_queried(paystack, status):
    """Paystack's published samples have a 200 with the status `false` about a charge that exists."""
    paystack.plan(f"POST /charge: fail {status}")

    payment = pay(paystack)
    assert payment["status"] == "pending"
    paystack.requery()

    assert outcome(paystack.again(payment)) == ("success", "10000", "00")


def test_lost_answer_to_an_input_asks_for_what_is_open(paystack):
    payment = pay(paystack, WITH_OTP)
    paystack.plan("POST /charge/submit_pin: cut")

    enter(payment, kind="pin", pin="1234")
    paystack.requery()
    enter(payment, kind="otp", code="123456")

    assert outcome(paystack.again(payment)) == ("success", "10000", "00")


def test_refused_key_fails_the_payment_and_blocks_cards(paystack):
    paystack.plan("POST /charge: refuse 401")

    assert outcome(pay(paystack)) == ("failed", "20030", "")
    refused = paystack.api.post(PAYMENTS, orders.card_payment(reference="second"))
    assert refused.status_code == 503
    assert not Transaction.objects.filter(reference="second").exists()


@pytest.mark.parametrize(
    ("kind", "right", "wrong", "label"),
    [
        ("phone", {"phone": "0801 234 5678"}, {"phone": "12"}, "Phone number"),
        ("birthday", {"birthday": "1990-07-31"}, {"birthday": "1990-13-31"}, "Date of birth"),
        (
            "address",
            {
                "address": "1 Marina",
                "city": "Lagos",
                "state": "Lagos",
                "zip_code": "100001",
                "country": "Nigeria",
            },
            {"address": ""},
            "City",
        ),
    ],
)
def test_payer_is_asked_for_details_which_are_sent_once(paystack, kind, right, wrong, label):
    paystack.command(script={"card": [f"{kind} approved"]})
    payment = pay(paystack)
    path = urlsplit(payment["redirect_link"]).path
    browser = Client(headers={"User-Agent": AGENT})

    assert label in browser.get(path).content.decode()
    browser.post(path, {"kind": kind, **wrong})
    assert submitted(paystack, kind) == 0

    enter(payment, kind=kind, **right)
    assert outcome(paystack.again(payment)) == ("success", "10000", "00")
    enter(payment, kind=kind, **right)
    assert submitted(paystack, kind) == 1


def submitted(paystack, kind):
    return paystack.simulator.calls[f"POST /charge/submit_{kind}"]
