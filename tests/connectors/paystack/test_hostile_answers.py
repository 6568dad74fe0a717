"""Answers with members of any type: read as unknown, and never an error of ours or a wrong outcome."""

import copy
import json
import random

import pytest

from connectors.paystack.api.client import PaystackClient
from connectors.paystack.payouts import PaystackBank
from kit.connectors.http_client import HttpAnswer
from payments.rails.protocol import AnswerLost, NotReceived
from tests.connectors.paystack.connected import made_bank, paystack_connected
from tests.connectors.paystack.test_payouts import an_order

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
