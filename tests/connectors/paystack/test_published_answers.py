"""Every answer that Paystack publishes about our operations is read, and every request of ours agrees with what it publishes."""

import json
from contextlib import suppress
from copy import deepcopy
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from connectors.paystack import refunds, statements
from connectors.paystack.accounts import PaystackAccounts, tagged_email
from connectors.paystack.api import bank_codes
from connectors.paystack.api.client import PaystackClient, Refused
from connectors.paystack.cards import PaystackAcquirer
from kit.connectors.http_client import HttpAnswer, HttpClient
from kit.connectors.provider_client import Deadline
from payments.rails.protocol import (
    ActionKind,
    AnswerLost,
    CardOrder,
    NoRecord,
    OperationOrder,
    Payer,
    ThreeDSecure,
)
from payments.rules.cards import Card, CardSecret
from tests.connectors.paystack import documents
from virtual_accounts.providers.protocol import AccountOrder, SessionOrder

pytestmark = pytest.mark.skipif(not documents.are_here(), reason=documents.MISSING)

INTEGRATION = "463433"
ID = UUID("0198abcd0198abcd0198abcd0198abcd")
CARD = Card(
    secret=CardSecret(number="4084084084084081", cvv="408"), brand="visa", bin="408408", last4="4081", name="Ada Obi",
    expiry_month="12", expiry_year="2030", billing_address={},
)  # fmt: skip
# What a charge's status in a sample asks the payer for. The others wait for the outcome, or are other ways to pay.
ASKED = {
    "200_otp": ActionKind.OTP,
    "200_pin": ActionKind.PIN,
    "200_bank_auth": ActionKind.REDIRECT,
    "200_phone": ActionKind.PHONE,
    "200_birthday": ActionKind.BIRTHDAY,
    "200_address": ActionKind.ADDRESS,
}
INPUTS = {
    ActionKind.PIN: {"pin": "1234"},
    ActionKind.OTP: {"otp": "123456"},
    ActionKind.PHONE: {"phone": "08012345678"},
    ActionKind.BIRTHDAY: {"birthday": "1990-12-31"},
    ActionKind.ADDRESS: {"address": "1 Marina", "city": "Lagos", "state": "LA", "zip_code": "100001", "country": "NG"},
}  # fmt: skip


def order(**changes):
    usual = {
        "id": ID, "amount": 40_333, "currency": "NGN", "captures_at_once": True, "three_ds": ThreeDSecure(),
        "has_passed_challenge": False, "card_bin": "408408", "card_last4": "4081", "card_expiry_month": "12",
        "card_expiry_year": "2030", "system_trace_audit_number": "", "retrieval_reference_number": "",
        "authorization_code": "", "descriptor": "", "payer": Payer(email="ada@example.com"),
        "return_url": "https://pay.example.com/3ds/t/return", "created_at": timezone.now(),
    }  # fmt: skip
    return CardOrder(**usual | changes)


def refund(**changes):
    usual = {
        "id": ID, "kind": "refund", "amount": 10_000, "system_trace_audit_number": "",
        "retrieval_reference_number": "", "created_at": timezone.now(),
    }  # fmt: skip
    return OperationOrder(**usual | changes)


def sample(name, label="200", **changes):
    """Return a status and a published answer, as if it were about our order."""
    document = deepcopy(documents.sample(name, label))
    if isinstance(document.get("data"), dict):
        document["data"] |= changes
    return int(label[:3]), document


def cases(prefix):
    """Return the names and labels of the samples of an operation."""
    return [
        pytest.param(name.removesuffix(".response.json"), label, id=f"{name.removeprefix('api.')} {label}")
        for name, document in documents._samples().items()
        if name.startswith(prefix)
        for label in document
    ]


@pytest.fixture
def paystack(settings, monkeypatch):
    """Return a stand-in of Paystack: it gives the answers that a test appends, and notes our requests."""
    settings.PAYSTACK_SECRET_KEY, settings.PAYSTACK_INTEGRATION = "sk_test_x", INTEGRATION
    settings.PAYSTACK_FALLBACK_EMAIL, settings.PAYSTACK_CARDS = "pay@shop.example", "direct"
    stand_in = SimpleNamespace(answers=[], sent=[])

    def call(self, request, *, timeout):
        stand_in.sent.append((request.method, request.url.partition(".co")[2], request.body))
        status, document = stand_in.answers.pop(0)
        return HttpAnswer(status, {}, json.dumps(document).encode())

    monkeypatch.setattr(HttpClient, "call", call)
    return stand_in


@pytest.mark.parametrize(
    ("name", "label"),
    [each for prefix in sorted(set(documents.SAMPLES.values())) for each in cases(prefix)]
    if documents.are_here()
    else [],
)
def test_every_sample_is_an_answer_or_a_refusal(paystack, name, label):
    paystack.answers.append(sample(name, label))

    try:
        read = PaystackClient().get("/balance", until=Deadline(1)).data
    except (Refused, AnswerLost):
        read = None

    is_success = label.startswith("200") and documents.sample(name, label)["status"]
    assert (read is not None) == (is_success and documents.sample(name, label).get("data") is not None)


@pytest.mark.parametrize(("name", "label"), cases("api.charges.create.") if documents.are_here() else [])
def test_sample_of_a_charge_says_what_the_payer_has_to_do(paystack, name, label):
    found = documents.sample(name, label)
    changes = {"domain": "test"} if "domain" in (found.get("data") or {}) else {}
    paystack.answers += [sample(name, label, **changes), verified()]

    answer = PaystackAcquirer().authorise(order(), card=CARD)

    assert (answer.action and answer.action.kind) == ASKED.get(label)
    if label in {"200", "200_momo"}:  # whose status is `success`
        assert answer.outcome.is_success
    elif label == "400":
        assert answer.outcome.code == "20030"
    else:
        assert answer.outcome.is_pending


@pytest.mark.parametrize(("name", "label"), cases("api.charges.submit-") if documents.are_here() else [])
def test_sample_of_a_submission_is_an_outcome_or_the_next_action(paystack, name, label):
    paystack.answers += [sample(name, label, domain="test"), verified()]
    kind = ActionKind(name.removeprefix("api.charges.submit-"))

    answer = PaystackAcquirer().answer_action(order(), kind=kind, value=INPUTS[kind])

    assert (answer.action and answer.action.kind) == ASKED.get(label)
    assert answer.outcome.is_success or answer.outcome.is_pending


@pytest.mark.parametrize(("name", "label"), cases("api.charges.check.") if documents.are_here() else [])
def test_sample_of_an_open_charge_says_what_it_asks_for(paystack, name, label):
    paystack.answers += [verified(status="ongoing"), sample(name, label, domain="test")]

    answer = PaystackAcquirer().query(order())

    assert (answer.action and answer.action.kind) == ASKED.get(label)
    assert answer.outcome.is_pending


def test_samples_of_a_transaction(paystack):
    paystack.answers += [
        verified(),
        sample("api.charges.check", "400"),
        sample("api.transactions.fetch"),
    ]
    acquirer = PaystackAcquirer()

    paid = acquirer.query(order(card_last4=""))
    with pytest.raises(NoRecord):
        acquirer.query(order())

    assert (paid.outcome.code, paid.card.bin, paid.card.last4) == ("10000", "408408", "4081")
    assert PaystackAccounts().find_transfer("4099260516") is None  # it was paid by card


def test_sample_of_a_page_leads_there(paystack, settings):
    settings.PAYSTACK_CARDS = "hosted"
    paystack.answers.append(sample("api.transactions.initialize", reference=ID.hex))

    answer = PaystackAcquirer().open_page(order(card_last4=""))

    assert answer.action.url == "https://checkout.paystack.com/3ni8kdavz62431k"


def test_samples_of_refunds(paystack, settings):
    settings.PAYSTACK_SECRET_KEY, settings.PAYSTACK_INTEGRATION = "sk_live_x", "412829"
    client, until = PaystackClient(), Deadline(1)
    paystack.answers += [
        sample("api.refunds.create"),
        sample("api.refunds.fetch", integration=412829, amount=10_000),
        (
            200,
            {
                **documents.sample("api.refunds.list", "200"),
                "data": [listed(id=7), listed(merchant_note="x")],
            },
        ),
    ]

    queued = refunds.send(client, ID.hex, refund(), transaction_id=lambda: "1641", until=until)
    fetched = refunds.query(client, "1641", refund(acquirer_reference="1"), until=until)
    found = refunds.query(client, "1641", refund(), until=until)

    assert (queued.outcome.is_pending, queued.acquirer_reference) == (True, "3018284")
    assert fetched.acquirer_reference
    assert (found.outcome.is_success, found.acquirer_reference) == (True, "7")


def listed(**changes):
    found = documents.sample("api.refunds.list", "200")["data"][0]
    return found | {"integration": 412829, "amount": 10_000, "merchant_note": ID.hex} | changes


def test_samples_of_an_account(paystack):
    paystack.answers += [
        sample("api.customers.create", email=tagged_email(ID), integration=int(INTEGRATION)),
        sample("api.customers.fetch"),
        sample("api.dedicated-virtual-account.create"),
    ]

    opened = PaystackAccounts().open(
        AccountOrder(id=ID, first_name="Ada", last_name="Obi", phone_number="080")
    )

    assert (opened.number, opened.bank_code, opened.bank_name) == ("9930000737", "035", "Wema Bank")


def test_sample_of_a_session_has_its_number(paystack):
    found = deepcopy(documents._samples()["doc.payments.payment-methods.pwt.index.json"])
    found["data"] |= {"reference": ID.hex}
    paystack.answers.append((200, found))

    opened = PaystackAccounts().open_session(session_order())

    assert opened.number == found["data"]["account_number"]


def test_samples_of_banks(paystack):
    last = sample("api.miscellaneous.bank")[1] | {"meta": {"next": None}}
    paystack.answers += [sample("api.miscellaneous.bank"), (200, last)]

    read = bank_codes.read(PaystackClient(), until=Deadline(1))

    assert {"801"} <= read.all
    assert read.numbers["801"] == "174"


def test_samples_of_settlements(paystack):
    listed = documents.sample("api.settlements.transactions", "200")["data"]

    assert [
        statements._payment(
            each,
            statements.ParsedLine(
                order=None,
                reference="",
                place="",
                booked_on=timezone.now().date(),
                amount=1,
                kind="payment",
                text="",
            ),
        )
        for each in listed
    ]
    paystack.answers.append(sample("api.settlements.list"))
    client = PaystackClient()
    assert list(statements._pages(client, "/settlement", {}))


class TestRequests:
    """Our requests are valid by the OpenAPI document, but for what it lacks."""

    # Of `POST /charge`, it lacks cards, transfers, currency and `callback_url`; of `POST /transaction/initialize`, nothing.
    UNPUBLISHED = (
        "card is unknown",
        "bank_transfer is unknown",
        "currency is unknown",
        "callback_url is unknown",
    )

    @pytest.mark.parametrize(
        "call",
        [
            lambda: PaystackAcquirer().authorise(order(), card=CARD),
            lambda: PaystackAcquirer().open_page(order(card_last4="")),
            *(lambda kind=kind: PaystackAcquirer().answer_action(order(), kind=kind, value=INPUTS[kind]) for kind in INPUTS),
            lambda: PaystackAcquirer().operate(order(), refund()),
            lambda: PaystackAccounts().open_session(session_order()),
            lambda: PaystackAccounts().open(AccountOrder(id=ID, first_name="Ada", last_name="Obi", phone_number="080")),
        ],
    )  # fmt: skip
    def test_agrees(self, paystack, call):
        paystack.answers += [
            sample("api.customers.create", email=tagged_email(ID), integration=int(INTEGRATION)),
            sample("api.customers.fetch"),
        ]

        with suppress(AnswerLost, IndexError):  # there are no further answers
            call()

        sent = [each for each in paystack.sent if each[0] == "POST"]

        assert sent
        for method, path, body in sent:
            complaints = documents.request_complaints(method, path, json.loads(body))
            assert set(complaints) <= set(self.UNPUBLISHED), path


def session_order():
    return SessionOrder(id=ID, account_id=uuid4(), amount=40_333, currency="NGN", expires_at=timezone.now())


def verified(**changes):
    return sample("api.transactions.verify", reference=ID.hex, **changes)
