"""Random disputes under random faults: in the end, each is as the scheme decided it, and was answered once.

CHECKOUT_EXAMPLES=2000 runs the long variant.
"""

import os
import random
from contextlib import suppress

import pytest

from connectors.checkout.simulator.control.faults import WebhookFault
from connectors.checkout.simulator.disputes import OPEN
from connectors.services import event_processing
from disputes.models import AnswerSending, Dispute, DisputeReport
from disputes.services import clock
from disputes.services.rails import answers_sent, cases
from kit.db.clock import database_now
from ledger.invariants import check
from payments.invariants.registry import INVARIANTS
from payments.models import Transaction
from tests.connectors.checkout.desk import Desk

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.servers]

EXAMPLES = int(os.environ.get("CHECKOUT_EXAMPLES", "4"))
STEPS, AMOUNT = 24, 50_000

CALLS = [
    "list_disputes",
    "get_dispute",
    "get_payment",
    "upload_file",
    "put_evidence",
    "submit_evidence",
    "accept_dispute",
]
FAULTS = [
    "swallow", "lose", "cut", "lose_and_cut", "half", "garbage", "error 500", "error 404", "error 429",
    "error_after 500", "error_after 502", "arrive_late 20", "arrive_late 400",
]  # fmt: skip
WEBHOOK_FAULTS = ["lose", "twice", "swap", "late 60", "late 7200", "forged", "unsigned"]
TEXTS = ["win", "lose", "escalate", "It was handed over on 3 March."]
WAITS = [1, 30, 130, 600, 4_000, 20_000]  # seconds
A_DAY = 24 * 3600

# How our rows may end, by how the scheme ended the case.
ENDS = {
    "won": {"won"},
    "canceled": {"withdrawn"},
    "lost": {"lost"},
    "accepted": {"accepted"},
    "expired": {"expired", "lost"},
    "arbitration_won": {"won"},
    "arbitration_lost": {"lost"},
}
ANSWERED = {"won", "lost", "accepted", "arbitration_won", "arbitration_lost"}
FOR_THE_BUSINESS = {"won", "withdrawn"}


class Killed(BaseException):
    """The process ended in the middle of a call."""


class Play:
    """One example: what the business, Checkout.com, the issuer and time do, in a random order."""

    def __init__(self, desk, api, transport, pass_time):
        self.desk, self.api, self.pass_time, self.random = desk, api, pass_time, random.Random()
        self.simulator, self.call, self.is_dying = desk.simulator, transport.call, False
        transport.call = self.call_or_die

    def step(self):
        acts = [self.answer, self.answer, self.fail, self.fail, self.fail_a_webhook, self.die, self.decide, self.work,
                self.work, self.wait]  # fmt: skip
        self.random.choice(acts)()

    def answer(self):
        dispute = Dispute.objects.order_by("-id").first()
        if dispute is None or self.random.random() < 0.3:
            return
        path = f"/api/disputes/{dispute.pk}"
        self.api.post(f"{path}/evidence", {"kind": "delivery", "text": self.random.choice(TEXTS)})
        answer = self.api.post(f"{path}/{self.random.choice(['submit', 'submit', 'accept'])}", {})
        assert answer.status_code in {200, 409}, answer.content

    def fail(self):
        self.simulator.plan.add(f"{self.random.choice(CALLS)}: {self.random.choice(FAULTS)}")

    def fail_a_webhook(self):
        self.simulator.outbox.plan.append(WebhookFault.read(self.random.choice(WEBHOOK_FAULTS)))

    def die(self):
        """Have a process be killed in its next call, before or after it is carried out."""
        self.is_dying = True
        self.work()
        self.is_dying = False

    def call_or_die(self, request, *, timeout):
        if not self.is_dying or self.random.random() < 0.4:
            return self.call(request, timeout=timeout)
        if self.random.random() < 0.6:
            with suppress(Exception):
                self.call(request, timeout=timeout)
        raise Killed

    def decide(self):
        """Have the issuer withdraw a case that awaits an answer, or the scheme decide an arbitration."""
        case = self.desk.case()
        if case.status == "arbitration_under_review":
            self.simulator.disputes.decide(case, self.random.choice(["arbitration_won", "arbitration_lost"]))
        elif case.status == "evidence_required" and self.random.random() < 0.1:
            self.simulator.disputes.decide(case, "canceled")

    def work(self):
        """Do what is due, as the workers and the schedule do. Webhooks come in any order."""
        self.desk.receive(shuffle=self.random)
        for work in self.random.sample(
            [event_processing.process_due, cases.query_due, answers_sent.send_due, self.expire], k=4
        ):
            with suppress(Killed):
                work()

    def expire(self):
        now = database_now()
        list(clock.expire(clock.overdue(now=now)))
        list(clock.remind(clock.to_remind(now=now)))

    def wait(self):
        self.pass_time(self.random.choice(WAITS))

    def come_to_rest(self):
        """Repair everything, and let time pass until the case and our answer have ended."""
        self.simulator.plan._faults.clear()
        self.simulator.outbox.plan.clear()
        for _ in range(40):
            self.work()
            self.pass_time(A_DAY / 2)
            self.decide()
            if self.desk.case().status not in OPEN and self.is_over():
                return
        pytest.fail(f"still open: {self.desk.case()}, {list(Dispute.objects.values())}")

    def is_over(self):
        are_sent = not AnswerSending.objects.exclude(next_at=None).exists()
        return are_sent and Dispute.objects.exists() and not Dispute.objects.open().exists()


@pytest.fixture
def payment(pay, simulator, pass_time):
    answer = pay(amount=AMOUNT)
    pass_time(2)
    simulator.tick()
    return Transaction.objects.get(reference=answer.json()["reference"])


@pytest.fixture
def desk(simulator, inbox, settings, payment):
    settings.CHECKOUT_WEBHOOK_KEYS, settings.DISPUTE_FEES = ["webhook-key"], {"NGN": 500}
    made = Desk(simulator, inbox)
    made.open(payment)
    return made


@pytest.fixture
def play(api, desk, transport, pass_time):
    return Play(desk, api, transport, pass_time)


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_each_dispute_ends_as_the_scheme_decided(payment, desk, play, seed):
    play.random.seed(seed)
    for _ in range(STEPS):
        play.step()
    play.come_to_rest()

    ended, disputes = desk.case().status, list(Dispute.objects.order_by("id"))
    latest = disputes[-1]
    answers = [dispute.answer for dispute in disputes if dispute.answer]
    assert len(answers) <= 1
    if ended in ANSWERED:
        assert [*answers[0]] == ["accept" if ended == "accepted" else "submit"]
    # What ended here stays, whatever the scheme says later. People settle that.
    if latest.status in ENDS[ended]:
        assert not DisputeReport.objects.exclude(why="").exists()
    else:
        assert latest.status in {"accepted", "expired"}
        is_contradicted = ended not in {"expired", "lost"}
        assert DisputeReport.objects.filter(why="contradiction").exists() == is_contradicted
    assert [each.status for each in disputes[:-1]] == ["won"] * (len(disputes) - 1)
    payment.refresh_from_db()
    assert payment.amount_disputed == (0 if latest.status in FOR_THE_BUSINESS else AMOUNT)
    assert [one.broken for one in check(INVARIANTS) if not one.holds] == []
