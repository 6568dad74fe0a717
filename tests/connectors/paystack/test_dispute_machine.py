"""Random disputes under random faults: in the end, each is as Paystack decided it, and was answered once.

PAYSTACK_EXAMPLES=2000 runs the long variant.
"""

import os
import random
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db.models import F
from django.utils import timezone

from connectors.paystack.simulator.payments.disputes import MERCHANT, OPEN
from disputes.models import AnswerSending, Dispute, DisputeReport
from disputes.rails import dispute_rail
from disputes.services.rails.answers_sent import SETTLES_IN
from ledger.invariants import check
from payments.invariants.registry import INVARIANTS
from tests.connectors.paystack.connected import paystack_connected
from tests.connectors.paystack.desk import Desk
from tests.connectors.paystack.shop import AMOUNT, Shop

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.servers]

EXAMPLES = int(os.environ.get("PAYSTACK_EXAMPLES", "4"))
STEPS = 20

CALLS = ["GET /dispute", "GET /dispute", "POST /dispute", "PUT /dispute", "PUT /dispute"]
FAULTS = [
    "cut", "half", "garbage", "fail 500", "fail 502", "lose_and_cut", "refuse 500", "refuse 503", "twice", "swallow",
    "refuse 429",
]  # fmt: skip
VARIANTS = {
    "answered_dispute": ["awaiting-bank-feedback", "pending"],
    "declined_amount": ["kept", "replaced"],
    "declined_dispute": ["bank_decides", "resolved"],
    "dispute_file": ["required", "optional"],
}
STATUSES = {
    "declined": {"won"},
    "merchant-accepted": {"accepted", "lost"},
    "auto-accepted": {"expired", "lost"},
}


class Play:
    """One example: what the business, Paystack, the bank and time do, in a random order."""

    def __init__(self, desk, api, generator):
        self.desk, self.api, self.random = desk, api, generator
        desk.open(category=generator.choice(["fraud", "chargeback"]))
        self.rail = dispute_rail("paystack", account=desk.payment.account)

    def step(self):
        moves = [
            self.answer,
            self.fail,
            self.fail,
            self.decide,
            self.desk.deliver,
            self.desk.look_again,
            self.desk.send,
            self.wait,
        ]
        self.random.choice(moves)()

    def answer(self):
        dispute = Dispute.objects.first()
        if dispute is None or self.random.random() < 0.5:
            return
        kind, body = self.random.choice([("submit", {}), ("accept", {}), ("accept", {"amount": 20_000})])
        answer = self.api.post(f"/api/disputes/{dispute.pk}/{kind}", body)
        assert answer.status_code in {200, 409}, answer.content

    def fail(self):
        self.desk.paystack.plan(f"{self.random.choice(CALLS)}: {self.random.choice(FAULTS)}")

    def decide(self):
        """Have the bank decide about an answer, or now and then Paystack about a dispute that has none."""
        case = self.desk.case()
        if case.status == "awaiting-merchant-feedback":
            # Before it accepts automatically, 16 hours pass, in which open cases are listed every 10 minutes.
            if Dispute.objects.exists() and self.random.random() < 0.2:
                self.desk.decide("auto-accepted")
        elif case.status in OPEN:
            self.desk.decide(self.random.choice(["declined", "merchant-accepted"]))

    def wait(self):
        AnswerSending.objects.update(sent_at=F("sent_at") - SETTLES_IN - timedelta(seconds=1))

    def come_to_rest(self):
        """Repair everything, and let time pass until the case and our answer have ended."""
        self.desk.paystack.simulator.plan._planned.clear()
        self.rail._client._buckets.clear()  # a 429 keeps one empty for some real time
        cache.clear()  # processes share them in Redis, if there is one
        for _ in range(50):
            if not self.rail._client.breaker.allows_calls():
                self.rail._client.breaker._make_probe()
            self.desk.deliver()
            self.desk.look_again()
            self.wait()
            self.desk.send()
            if self.desk.case().status in OPEN:
                self.decide()
            elif self.is_over():
                return
        pytest.fail(f"still open: {self.desk.case()}")

    def is_over(self):
        are_sent = not AnswerSending.objects.exclude(next_at=None).exists()
        return are_sent and Dispute.objects.exists() and not Dispute.objects.open().exists()


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_each_dispute_ends_as_paystack_decided(settings, api, seed):
    generator = random.Random(seed)
    variants = {name: generator.choice(values) for name, values in VARIANTS.items()}
    settings.PROXIES_IN_FRONT, settings.CARD_ACQUIRER = 1, "paystack"
    with paystack_connected(settings, api, standing_at=timezone.now(), **variants) as paystack:
        shop = Shop(paystack)
        shop.come_back(shop.enter(shop.go()))
        play = Play(Desk(paystack, shop.payment), api, generator)
        usual, play.rail._client._timeout = play.rail._client._timeout, 0.3
        for _ in range(STEPS):
            play.step()
        play.rail._client._timeout = usual
        play.come_to_rest()

        case, dispute = play.desk.case(), Dispute.objects.get()
        said = [each for each in case.messages if each["sender"] == MERCHANT]
        assert len(said) <= 1
        # What the business conceded stays, whatever the bank decided before it was told.
        is_conceded = "accept" in (dispute.answer or {})
        assert dispute.status in STATUSES[case.resolution] | ({"accepted"} if is_conceded else set())
        lost = dispute.answer["accept"]["amount"] if is_conceded else AMOUNT
        shop.payment.refresh_from_db()
        assert shop.payment.amount_disputed == (0 if dispute.status == "won" else lost)
        assert not DisputeReport.objects.filter(why="unreadable").exists()
        assert [one.broken for one in check(INVARIANTS) if not one.holds] == []
