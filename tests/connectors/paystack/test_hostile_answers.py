"""Answers with members of any type: read as unknown, and never an error of ours or a wrong outcome."""

import copy
import json
import random
from datetime import timedelta
from uuid import uuid4

import pytest

from connectors.paystack.accounts import PaystackAccounts
from connectors.paystack.api.client import DEFINITE, PaystackClient
from connectors.paystack.cards import PaystackAcquirer
from connectors.paystack.payouts import PaystackBank
from kit.connectors.http_client import HttpAnswer
from kit.db import clock
from payments.rails.protocol import ActionKind, AnswerLost, NotReceived
from tests.connectors.checkout.connecting import card, order
from tests.connectors.paystack.client import AT_BANK, SUCCESS, WITH_OTP
from tests.connectors.paystack.connected import made_bank, paystack_connected
from tests.connectors.paystack.test_payouts import an_order
from virtual_accounts.providers.protocol import AccountOrder, SessionOrder

pytestmark = pytest.mark.django_db

VALUES = (
    None,
    "",
    0,
    -1,
    2**70,
    1.5,
    [],
    ["a"],
    {},
    {"id": []},
    True,
    False,
    "\0",
    "\ud800",
    "x" * 5_000,
    [[[]]],
)
STATUSES = (200, 200, 200, 201, 204, 301, 400, 401, 403, 404, 409, 418, 422, 429, 500, 502)


def mutated(document, generator):
    """Return a document in which a few members have other values, or are absent."""
    changed = copy.deepcopy(document)
    for _ in range(generator.randint(1, 3)):
        part = changed
        while isinstance(part, dict) and part:
            name = generator.choice(list(part))
            if isinstance(part[name], dict) and part[name] and generator.random() < 0.7:
                part = part[name]
                continue
            if generator.random() < 0.2:
                del part[name]
            else:
                part[name] = copy.deepcopy(generator.choice(VALUES))
            break
    return changed


@pytest.fixture
def hostile(settings, api, monkeypatch):
    """Return a connector to a Paystack whose answers are changed on the way, and what it has done."""
    generator = random.Random(1)
    call = PaystackClient._call_now

    def changed(self, endpoint, request, until):
        answer = call(self, endpoint, request, until)
        if generator.random() < 0.5:
            return answer
        document = mutated(json.loads(answer.body), generator)
        status = generator.choice(STATUSES) if generator.random() < 0.4 else answer.status
        return HttpAnswer(status, {"x-ratelimit-reset": "0"}, json.dumps(document).encode())

    with paystack_connected(settings, api) as paystack:
        made_bank().account_name(account_number="0123456789", nip_code="000013")  # reads the list of banks
        monkeypatch.setattr(PaystackClient, "_call_now", changed)
        yield paystack


@pytest.mark.long
def test_are_unknown_unless_they_are_ours(hostile):
    bank = PaystackBank()
    for _ in range(400):
        order = an_order()
        for ask in (bank.send, bank.query):
            try:
                answer = ask(order)
            except (AnswerLost, NotReceived):
                continue
            assert answer.outcome.is_success or answer.outcome.is_pending
            if answer.outcome.is_success:
                assert hostile.paid()[order.id.hex] == order.amount


def test_of_name_enquiries_are_no_names(hostile):
    bank = made_bank()
    for _ in range(200):
        try:
            name = bank.account_name(account_number="0123456789", nip_code="000013")
        except AnswerLost:
            continue
        assert name is None or name.isprintable()


@pytest.mark.long
def test_about_cards_are_unknown_unless_they_are_ours(hostile, settings, monkeypatch):
    monkeypatch.setitem(globals(), "STATUSES", [each for each in STATUSES if each not in DEFINITE])
    settings.PAYSTACK_CARDS = "direct"
    acquirer = PaystackAcquirer()
    for entered in [SUCCESS, WITH_OTP, AT_BANK] * 100:
        paid = order(capture=True)
        asks = (
            lambda: acquirer.authorise(paid, card=card(entered["number"], cvv=entered["cvv"])),  # noqa: B023
            lambda: acquirer.answer_action(paid, kind=ActionKind.PIN, value={"pin": "1234"}),  # noqa: B023
            lambda: acquirer.query(paid),  # noqa: B023
            lambda: acquirer.reverse(paid, is_repeat=False),  # noqa: B023
        )
        for ask in asks:
            try:
                answer = ask()
            except AnswerLost:
                continue
            is_charged = paid.id.hex in hostile.books()["charged"]
            assert answer is None or answer.outcome.is_pending or answer.outcome.is_success == is_charged


def test_about_accounts_are_unknown(hostile):
    accounts = PaystackAccounts()
    for _ in range(100):
        account = AccountOrder(id=uuid4(), first_name="Ada", last_name="Obi", phone_number="08012345678")
        accounts.open(account)
        expires_at = clock.now() + timedelta(minutes=20)
        session = SessionOrder(
            id=uuid4(), account_id=account.id, amount=50_000, currency="NGN", expires_at=expires_at
        )
        for ask in (lambda: accounts.open_session(session), lambda: accounts.find_transfer(session.id.hex)):  # noqa: B023
            try:
                ask()
            except AnswerLost:
                continue
