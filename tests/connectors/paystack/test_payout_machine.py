"""Random payouts under random faults: in the end, each has succeeded if and only if Paystack has paid it, and once.

A transfer that Paystack gives back after its success is a returned payout.

PAYSTACK_EXAMPLES=2000 runs the long variant, and FIRST_EXAMPLE=500 begins at that one.
"""

import os
import random
from contextlib import suppress
from unittest.mock import patch

import pytest

from connectors.services import event_processing
from ledger.invariants import check
from payments.invariants.registry import INVARIANTS
from payments.models import RailBlock, Transaction
from payments.rails.protocol import AnswerLost
from payments.services.rails.rail_queries import first_calls
from payments.services.transfers import account_provider_calls
from tests import orders
from tests.connectors.paystack.client import KEY, LIVE_KEY
from tests.connectors.paystack.connected import PAYMENTS, paystack_connected, reference_of, short_timeout
from tests.connectors.provider_webhooks import PAYSTACK, send
from virtual_accounts.models import ProviderMessage

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.servers]

EXAMPLES = int(os.environ.get("PAYSTACK_EXAMPLES", "4"))
FIRST = int(os.environ.get("FIRST_EXAMPLE", "0"))
STEPS = 30

CALLS = ["POST /transfer", "POST /transfer", "POST /transferrecipient", "GET /transfer/verify", "GET /bank"]
FAULTS = [
    "cut", "half", "garbage", "fail 500", "fail 502", "lose_and_cut", "refuse 500", "refuse 503", "refuse 401",
    "refuse 403", "refuse 429", "redirect", "twice", "repeat", "hide", "hide 20", "swallow", "arrive_late 30",
]  # fmt: skip
SWITCHES = ["otp", "on_hold", "starter", "ip_refused"]
ENDS = ["success", "failed", "abandoned", "blocked", "rejected"]
VARIANTS = {
    "transfer_repeated": ["400", "404", "without_code"],
    "failed_transfer_fee": ["returned", "kept"],
    "recipient_name": ["kept", "replaced"],
    "nip_member": ["nip_sort_code", "nip_code"],
}
AMOUNTS = [10_000, 250_000, 99_000_000, 100_000_000, 300_000_000]


class Killed(Exception):
    """A process ended here."""


class Play:
    """One example: what merchants, Paystack, banks and time do, in a random order."""

    def __init__(self, paystack, generator, client):
        self.paystack, self.random, self.client = paystack, generator, client
        self.payouts = []

    def step(self):
        moves = [
            self.pay,
            self.pay,
            self.pay,
            self.fail,
            self.fail,
            self.switch,
            self.end,
            self.reverse,
            self.die,
            self.wait,
            self.requery,
        ]
        self.random.choice(moves)()

    def pay(self):
        answer = self.paystack.post(amount=self.random.choice(AMOUNTS))
        assert answer.status_code in {201, 503}, answer.content
        if answer.status_code == 201:
            self.payouts.append(answer.json())

    def die(self):
        """Kill a process before or after it has called the bank. It stores no answer, and keeps its lease."""
        order, has_called = orders.payout(amount=self.random.choice(AMOUNTS)), self.random.random() < 0.5

        def dying(call, *, about):
            with suppress(AnswerLost):
                if has_called:
                    call()
            raise Killed

        with patch.object(first_calls, "answer_to", dying), suppress(Killed):
            self.paystack.api.post(PAYMENTS, order)
        stored = self.paystack.api.get(f"{PAYMENTS}/{order['reference']}")
        if stored.status_code == 200:
            self.payouts.append(stored.json())

    def fail(self):
        self.paystack.plan(f"{self.random.choice(CALLS)}: {self.random.choice(FAULTS)}")

    def switch(self):
        self.paystack.command(switch={self.random.choice(SWITCHES): self.random.random() < 0.5})

    def end(self):
        transfers = self.paystack.simulator.integration.tables.transfers
        opened = [each.reference for each in transfers.values() if each.status in {"pending", "otp"}]
        if opened:
            status = self.random.choice(ENDS)
            self.paystack.command(transfer={"reference": self.random.choice(opened), "status": status})

    def reverse(self):
        transfers = self.paystack.simulator.integration.tables.transfers
        if paid := [each.reference for each in transfers.values() if each.status == "success"]:
            self.paystack.command(transfer={"reference": self.random.choice(paid), "status": "reversed"})

    def wait(self):
        self.paystack.pass_time(self.random.choice([5, 30, 61, 600]))

    def requery(self):
        self.paystack.requery()

    def hear(self):
        """Receive every event, and process those that are due."""
        key = self.paystack.simulator.integration.settings.secret_key
        for event in self.paystack.simulator.integration.outbox.events:
            assert send(self.client, PAYSTACK, event.body, key=key).status_code == 200
        event_processing.process_due()
        account_provider_calls.send_due()

    def come_to_rest(self):
        """Repair everything, and let time pass until nothing is pending."""
        simulator = self.paystack.simulator
        simulator.plan._planned.clear()
        self.paystack.command(switch=dict.fromkeys(SWITCHES, False), top_up=10**12)
        for _ in range(100):
            for each in list(simulator.integration.tables.transfers.values()):
                if each.status in {"pending", "otp"}:
                    self.paystack.command(transfer={"reference": each.reference, "status": "success"})
            self.hear()
            if not (
                Transaction.objects.unanswered().exists() or ProviderMessage.objects.unanswered().exists()
            ):
                return
            self.paystack.requery_later(after=61)
        pytest.fail("payouts are still pending")


@pytest.mark.parametrize("seed", range(FIRST, FIRST + EXAMPLES))
def test_each_payout_succeeds_exactly_if_it_was_paid(settings, api, client, seed):
    generator = random.Random(seed)
    variants = {name: generator.choice(values) for name, values in VARIANTS.items()}
    key = generator.choice([KEY, LIVE_KEY])
    with paystack_connected(settings, api, key=key, **variants) as paystack:
        if key == LIVE_KEY:
            paystack.command(default={"transfer": "pending"})
        play = Play(paystack, generator, client)
        with short_timeout(0.2):
            for _ in range(STEPS):
                play.step()
        play.come_to_rest()
        paystack.pass_time(61)
        play.payouts.append(paystack.pay_out())
        play.come_to_rest()

        shown = [paystack.again(payout) for payout in play.payouts]
        kept = [each for each in shown if each["status"] == "success" and "reversal" not in each]
        succeeded = {reference_of(each): each["amount"] for each in kept}
        assert paystack.paid() == succeeded
        assert {each["status"] for each in shown} <= {"success", "failed"}
        assert not RailBlock.objects.filter(currency="").exists()
        assert [one.broken for one in check(INVARIANTS) if not one.holds] == []
