"""Random payers on Paystack's page under random faults: in the end, what failed is not charged, and what succeeded is once.

HOSTED_EXAMPLES=2000 runs the long variant.
"""

import os
import random

import pytest

from kit.connectors import connectors
from ledger.invariants import check
from payments import rails
from payments.invariants.registry import INVARIANTS
from payments.models import CardOperation, Transaction
from payments.rails.protocol import CardAcquirer
from tests.connectors.paystack.client import NO_FUNDS, SUCCESS
from tests.connectors.paystack.connected import paystack_connected
from tests.connectors.paystack.shop import AMOUNT, Shop

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.servers]

EXAMPLES = int(os.environ.get("HOSTED_EXAMPLES", "3"))
STEPS = 14
CALLS = ["POST /transaction/initialize", "GET /transaction/verify", "POST /refund", "GET /refund"]
# Without 429, which stops calls for some real time.
FAULTS = [
    "cut", "half", "garbage", "fail 500", "lose_and_cut", "refuse 500", "refuse 401", "hide", "twice",
    "arrive_late 90",
]  # fmt: skip
VARIANTS = {
    "charge_codes": ["everywhere", "nowhere"],
    "unknown_transaction": ["404", "400"],
    "pending_refund": ["success", "reversal-pending"],
    "partial_refund": ["reversed", "success"],
    "open_refund": ["allows_another", "refuses_another"],
}


class Play:
    """One example: what a payer, the merchant, Paystack and time do, in a random order."""

    def __init__(self, paystack, chance):
        self.shop, self.chance = Shop(paystack), chance
        self.pages, self.refunds = [], 0

    def step(self):
        moves = (
            self.begin,
            self.enter,
            self.enter,
            self.come_back,
            self.end,
            self.refund,
            self.fail,
            self.wait,
        )
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
            self.shop.enter("/" + page.url.split("/", 3)[3], self.chance.choice([SUCCESS, NO_FUNDS]))

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
        call, fault = self.chance.choice(CALLS), self.chance.choice(FAULTS)
        self.shop.paystack.plan(f"{call}: {fault}")

    def wait(self):
        self.shop.let_pass(self.chance.choice([1, 3, 16]))

    def settle(self):
        self.shop.paystack.simulator.plan._planned.clear()
        self.shop.let_pass(1, 16, 16, 30, 60, 60, 60, 60, 600, 600)


def assert_books_agree(shop):
    books = shop.paystack.books()
    for payment in Transaction.objects.all():
        kept = books["charged"].get(payment.pk.hex, 0) - books["refunded"].get(payment.pk.hex, 0)
        assert payment.status != "pending"
        expected = AMOUNT - payment.amount_refunded if payment.status == "success" else 0
        assert kept == expected, (payment.reference, payment.status, kept)
    assert not CardOperation.objects.filter(status="pending").exists()
    assert [one.broken for one in check(INVARIANTS) if not one.holds] == []


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_books_agree(settings, api, seed):
    chance = random.Random(seed)
    settings.PROXIES_IN_FRONT, settings.CARD_ACQUIRER = 1, "paystack"
    variants = {name: chance.choice(values) for name, values in VARIANTS.items()}
    with paystack_connected(settings, api, **variants) as paystack:
        acquirer = connectors.make(rails.ACQUIRERS["paystack"], protocol=CardAcquirer)._connector
        acquirer._timeout = 0.5
        play = Play(paystack, chance)
        for _ in range(STEPS):
            play.step()
        play.settle()
        assert_books_agree(play.shop)
