"""Random payers on Checkout.com's page under random faults: in the end, what failed is not charged, and what succeeded is once.

CHECKOUT_HOSTED_EXAMPLES=2000 runs the long variant.
"""

import os
import random

import pytest
from django.core.management import call_command

from connectors.checkout.references import reference_of
from payments.models import CardOperation, Transaction
from payments.tasks import expire_due, look_at_watches
from tests.connectors.checkout.connecting import GOOD_CARD, requery
from tests.connectors.checkout.shop import DECLINED_CARD, Shop

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.servers]

EXAMPLES = int(os.environ.get("CHECKOUT_HOSTED_EXAMPLES", "3"))
STEPS = 14
CALLS = ["create_page", "get_page", "list_payments", "get_payment", "get_actions", "refunds", "voids"]
FAULTS = ["swallow", "lose", "cut", "lose_and_cut", "half", "garbage", "error 500", "error_after 502", "error 404", "error 401"]  # fmt: skip
VARIANTS = {
    "second_page_payment": ["charged", "refused"],
    "undecided_action": ["hidden", "listed"],
    "automatic_capture": ["Authorized", "Captured"],
}


class Play:
    """One example: what a payer, the merchant, Checkout.com and time do, in a random order."""

    def __init__(self, shop, chance, pass_time):
        self.shop, self.chance, self._pass_time = shop, chance, pass_time
        self.pages, self.refunds = [], 0

    def step(self):
        moves = [
            self.begin,
            self.enter,
            self.enter,
            self.come_back,
            self.end,
            self.refund,
            self.fail,
            self.wait,
        ]
        self.chance.choice(moves)()

    def begin(self):
        attempts = Transaction.objects.count()
        answer = self.shop.payer.post(f"{self.shop.checkout}/card", {"attempt": str(attempts)})
        assert answer.status_code in {303, 503}, answer.content
        challenge = getattr(self.shop.payment, "challenge", None) if self.shop.payment else None
        if challenge is not None:
            self.pages.append(challenge)

    def enter(self):
        """Pay at any page that was shown, however old it is."""
        if self.pages:
            page = self.chance.choice(self.pages)
            self.shop.enter(page.url, self.chance.choice([GOOD_CARD, DECLINED_CARD]))

    def come_back(self):
        if self.pages:
            token = self.chance.choice(self.pages).token
            assert self.shop.payer.get(f"/3ds/{token}/return").status_code in {200, 303}

    def end(self):
        assert self.shop.payer.end(self.shop.checkout).status_code == 303

    def refund(self):
        self.refunds += 1
        body = {"reference": f"refund-{self.refunds}", "amount": self.chance.choice([1, 10_000, 20_000])}
        for payment in Transaction.objects.filter(status="success"):
            answer = self.shop.api.post(f"/api/payments/{payment.reference}/refunds", body)
            assert answer.status_code in {201, 400, 409, 503}, answer.content

    def fail(self):
        self.shop.simulator.plan.add(f"{self.chance.choice(CALLS)}: {self.chance.choice(FAULTS)}")

    def wait(self):
        self.let_pass(self.chance.choice([60, 180, 960]))

    def let_pass(self, *seconds):
        for each in seconds:
            self._pass_time(each)
            expire_due()
            requery()
            look_at_watches()

    def settle(self):
        self.shop.simulator.plan._faults.clear()
        self.let_pass(60, 900, 900, 1800, 3600, 3600, 7200, 3600, 3600, 7 * 3600, 60, 60)


def assert_books_agree(shop):
    theirs = shop.simulator.books()["payments"].values()
    for payment in Transaction.objects.all():
        found = [each for each in theirs if each["reference"] == reference_of(payment.pk)]
        kept = sum(each["charged"] + each["reserved"] - each["refunded"] for each in found)
        expected = payment.amount - payment.amount_refunded if payment.status == "success" else 0
        assert payment.status != "pending"
        assert kept == expected, (payment.reference, payment.status, found)
    assert not CardOperation.objects.filter(status="pending").exists()
    call_command("check_ledger")


@pytest.fixture
def shop(settings, api, transport, client, simulator):
    settings.PROXIES_IN_FRONT, settings.CHECKOUT_CARDS = 1, "hosted"
    return Shop(api, client, simulator)


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_books_agree(shop, pass_time, seed):
    chance = random.Random(seed)
    variants = {name: chance.choice(values) for name, values in VARIANTS.items()}
    shop.simulator.account.variants.change(variants)
    play = Play(shop, chance, pass_time)
    for _ in range(STEPS):
        play.step()
    play.settle()
    assert_books_agree(shop)
