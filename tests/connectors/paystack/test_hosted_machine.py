"""Random payers on Paystack's page under random faults.

HOSTED_EXAMPLES=2000 runs the long variant, and FIRST_EXAMPLE=500 begins at that one.
"""

import os
import random

import pytest

from kit.connectors import connectors
from payments import rails
from payments.rails.protocol import CardAcquirer
from tests.connectors.hosted_machine import HostedPlay
from tests.connectors.paystack.client import NO_FUNDS, SUCCESS
from tests.connectors.paystack.connected import paystack_connected
from tests.connectors.paystack.shop import Shop

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.servers]

EXAMPLES = int(os.environ.get("HOSTED_EXAMPLES", "3"))
FIRST = int(os.environ.get("FIRST_EXAMPLE", "0"))
VARIANTS = {
    "charge_codes": ["everywhere", "nowhere"],
    "unknown_transaction": ["404", "400"],
    "pending_refund": ["success", "reversal-pending"],
    "partial_refund": ["reversed", "success"],
    "open_refund": ["allows_another", "refuses_another"],
}


class Play(HostedPlay):
    CALLS = ["POST /transaction/initialize", "GET /transaction/verify", "POST /refund", "GET /refund"]
    # Without 429, which stops calls for some real time.
    FAULTS = [
        "cut", "half", "garbage", "fail 500", "lose_and_cut", "refuse 500", "refuse 401", "hide", "twice",
        "arrive_late 90",
    ]  # fmt: skip
    CARDS = [SUCCESS, NO_FUNDS]
    WAITS = [1, 3, 16]  # minutes
    LAST_WAITS = [1, 16, 16, 30, 60, 60, 60, 60, 600, 600]

    def address_of(self, page):
        return "/" + page.url.split("/", 3)[3]

    def plan(self, words):
        self.shop.paystack.plan(words)

    def repair(self):
        self.shop.paystack.simulator.plan._planned.clear()

    def let_pass(self, time):
        self.shop.let_pass(time)

    def kept(self, payment):
        books = self.shop.paystack.books()
        return books["charged"].get(payment.pk.hex, 0) - books["refunded"].get(payment.pk.hex, 0)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + EXAMPLES))
def test_books_agree(settings, api, seed):
    chance = random.Random(seed)
    settings.PROXIES_IN_FRONT, settings.CARD_ACQUIRER = 1, "paystack"
    variants = {name: chance.choice(values) for name, values in VARIANTS.items()}
    with paystack_connected(settings, api, **variants) as paystack:
        acquirer = connectors.make(rails.ACQUIRERS["paystack"], protocol=CardAcquirer)._connector
        acquirer._client._timeout = 0.5
        Play(Shop(paystack), chance).run()
