"""Random payers on Checkout.com's page under random faults.

CHECKOUT_HOSTED_EXAMPLES=2000 runs the long variant, and FIRST_EXAMPLE=500 begins at that one.
"""

import os
import random

import pytest

from connectors.checkout.api.references import reference_of
from payments.tasks import expire_due, look_at_watches
from tests.connectors.checkout.connecting import GOOD_CARD, requery
from tests.connectors.checkout.shop import DECLINED_CARD, Shop
from tests.connectors.hosted_machine import HostedPlay, is_anything_unknown

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.servers]

EXAMPLES = int(os.environ.get("CHECKOUT_HOSTED_EXAMPLES", "3"))
FIRST = int(os.environ.get("FIRST_EXAMPLE", "0"))
VARIANTS = {
    "second_page_payment": ["charged", "refused"],
    "undecided_action": ["hidden", "listed"],
    "automatic_capture": ["Authorized", "Captured"],
}


class Play(HostedPlay):
    CALLS = ["create_page", "get_page", "list_payments", "get_payment", "get_actions", "refunds", "voids"]
    FAULTS = ["swallow", "lose", "cut", "lose_and_cut", "half", "garbage", "error 500", "error_after 502", "error 404", "error 401"]  # fmt: skip
    CARDS = [GOOD_CARD, DECLINED_CARD]
    WAITS = [60, 180, 960]  # seconds
    LAST_WAITS = [60, 900, 900, 1800, 3600, 3600, 7200, 3600, 3600, 7 * 3600, 60, 60]

    def __init__(self, shop, chance, pass_time):
        super().__init__(shop, chance)
        self._pass_time = pass_time

    def plan(self, words):
        self.shop.simulator.plan.add(words)

    def repair(self):
        self.shop.simulator.plan._faults.clear()

    def let_pass(self, time):
        self._pass_time(time)
        expire_due()
        if is_anything_unknown():
            requery()
        look_at_watches()

    def kept(self, payment):
        theirs = self.shop.simulator.books()["payments"].values()
        found = [each for each in theirs if each["reference"] == reference_of(payment.pk)]
        return sum(each["charged"] + each["reserved"] - each["refunded"] for each in found)


@pytest.fixture
def shop(settings, api, transport, client, simulator):
    settings.PROXIES_IN_FRONT, settings.CHECKOUT_CARDS = 1, "hosted"
    return Shop(api, client, simulator)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + EXAMPLES))
def test_books_agree(shop, pass_time, seed):
    chance = random.Random(seed)
    shop.simulator.account.variants.change({name: chance.choice(each) for name, each in VARIANTS.items()})
    Play(shop, chance, pass_time).run()
