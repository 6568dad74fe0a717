"""A card number, a PIN and the secret key appear in no log, exception or row, whatever goes wrong at Paystack."""

import logging
import re

import pytest
from django.apps import apps

from kit.connectors import connectors
from payments import rails
from payments.rails.protocol import CardAcquirer
from tests import orders
from tests.connectors.paystack.client import KEY, WITH_OTP
from tests.connectors.paystack.connected import PAYMENTS, paystack_connected
from tests.payers import Payer

pytestmark = pytest.mark.django_db

PIN = "7319"
FAULTS = [
    "cut", "half", "garbage", "lose_and_cut", "refuse 400", "refuse 401", "refuse 403", "refuse 429", "refuse 500",
    "fail 502", "redirect", "twice", "swallow",
]  # fmt: skip


@pytest.fixture
def paystack(settings, api):
    settings.CARD_ACQUIRER, settings.PAYSTACK_CARDS = "paystack", "direct"
    settings.PROXIES_IN_FRONT = 1
    with paystack_connected(settings, api) as connected:
        connectors.make(rails.ACQUIRERS["paystack"], protocol=CardAcquirer)._connector._client._timeout = 1
        yield connected


def rows():
    """Return the text of every row."""
    return [repr(row) for model in apps.get_models() for row in model._base_manager.values_list()]


def test_no_call_shows_a_secret(paystack, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    source = orders.card_source(pan=WITH_OTP["number"], cvv=WITH_OTP["cvv"])
    payer, answers = Payer("192.0.2.1"), []
    for fault in ["", *FAULTS]:
        for call in ("POST /charge", "POST /charge/submit_pin", "GET /transaction/verify") if fault else ():
            paystack.plan(f"{call}: {fault}")
        answer = paystack.api.post(PAYMENTS, orders.card_payment(source=source))
        answers.append(answer.content.decode())
        link = answer.json().get("redirect_link")
        if link:
            entered = payer.post(link[link.index("/3ds/") :], {"kind": "pin", "pin": PIN})
            answers.append(entered.content.decode())
        paystack.requery()
        paystack.simulator.plan._planned.clear()
        paystack.pass_time(600)

    calls = paystack.simulator.calls
    assert calls["POST /charge"] > len(FAULTS) / 2
    assert calls["POST /charge/submit_pin"]
    number = WITH_OTP["number"]
    spellings = [KEY, number, " ".join(re.findall("....", number))]
    # Identifiers and times may have the digits of a PIN as a part.
    patterns = [*map(re.escape, spellings), rf"(?<![\w.-]){PIN}(?![\w.-])"]
    logged = [f"{record.getMessage()} {vars(record)}" for record in caplog.records]
    texts = [*answers, *logged, *rows(), *capfd.readouterr()]
    assert [found for each in patterns for text in texts for found in re.findall(each, text)] == []
