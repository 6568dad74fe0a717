"""Whatever goes wrong between us and Checkout.com, both books say the same in the end.

CHECKOUT_FAULT_SEEDS=2000 plays more of it.
"""

import os
import random

import pytest
from django.core.management import call_command
from django.test import Client as HttpClient

from connectors.checkout.api.references import reference_of
from connectors.services import event_processing
from payments.models import CardOperation, Transaction, WatchedAuthorisation
from payments.tasks import look_at_watches
from tests import orders
from tests.connectors import provider_webhooks
from tests.connectors.checkout.connecting import GOOD_CARD, requery

PAYMENTS = "/api/payments"
WORDS = [
    "answer", "swallow", "lose", "cut", "lose_and_cut", "half", "garbage", "error 500", "error 404", "error 409",
    "error 429", "hide 60",
]  # fmt: skip
# A request may arrive after its repeat has failed there with an effect: both are carried out, because Checkout.com keeps no
# keys of errors.
LATE, WITH_EFFECT = ["arrive_late 20", "arrive_late 4000", "delay 20"], ["error_after 502", "error_after 503"]
OPERATIONS = ["capture", "void", "refunds"]
LOOKS = [7 * 3600, 60, 60]  # until every second charge is found, and given back
ROUNDS = [2, 10, 30, 120, 900, 900, 3600, 7200]  # seconds between queries


def play(chance, api, simulator, pass_time):
    """Make a payment and an operation on it, with faults at random, and query until all is over."""
    simulator.plan.add(*chance.choices(WORDS + LATE + WITH_EFFECT, k=chance.randint(0, 5)))
    # An effect may also be behind a cut connection: no key is kept, and a repeat makes a second payment.
    simulator.account.delays.change(
        {"idempotency_key": chance.choice([-1, 24 * 3600]), "index": chance.choice([0, 5, 30])}
    )
    simulator.account.variants.change(
        {
            "key_in_flight": chance.choice(["409", "429"]),
            "undecided_action": chance.choice(["hidden", "listed"]),
            "automatic_capture": chance.choice(["Authorized", "Captured"]),
        }
    )
    source = orders.card_source(pan=GOOD_CARD, cvv="100")
    made = orders.card_payment(source=source, capture=chance.random() < 0.5)
    assert api.post(PAYMENTS, made).status_code == 201
    settle(chance.sample(ROUNDS[:4], k=2), pass_time)
    path = f"{PAYMENTS}/{made['reference']}/{chance.choice(OPERATIONS)}"
    body = {"reference": f"{made['reference']}-r", "amount": chance.choice([1, 20_000, 50_000])}
    assert api.post(path, body if path.endswith("refunds") else {}).status_code < 500
    settle(ROUNDS, pass_time)
    simulator.plan._faults.clear()
    settle(ROUNDS, pass_time)


def settle(rounds, pass_time):
    for seconds in rounds:
        pass_time(seconds)
        requery()
        look_at_watches()


def theirs(simulator, transaction):
    """Return how often a payment was made there, what is charged, refunded and reserved."""
    found = [
        one
        for one in simulator.books()["payments"].values()
        if one["reference"] == reference_of(transaction.pk)
    ]
    return len(found), *(sum(one[name] for one in found) for name in ("charged", "refunded", "reserved"))


QUICK, SEEDS = 3, int(os.environ.get("CHECKOUT_FAULT_SEEDS", "8"))


@pytest.mark.parametrize(
    "seed",
    [*range(QUICK), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(QUICK, SEEDS))],
)
def test_books_agree(api, simulator, transport, pass_time, seed):
    chance = random.Random(seed)
    for _ in range(3):
        play(chance, api, simulator, pass_time)
    settle(LOOKS, pass_time)

    assert not CardOperation.objects.filter(status="pending").exists()
    for transaction in Transaction.objects.all():
        _, charged, refunded, reserved = theirs(simulator, transaction)
        if transaction.status == "success":
            assert charged - refunded == transaction.amount_captured - transaction.amount_refunded
        elif transaction.awaiting == "capture":
            assert (charged - refunded, reserved) == (0, transaction.amount)
        else:
            assert transaction.status == "failed"
            assert (charged - refunded, reserved) == (0, 0)
    call_command("check_ledger")  # exits if anything is wrong


class TestSecondCharge:
    """A request and its repeat were both carried out."""

    @pytest.mark.parametrize("decision", ["10000", "20005"])
    @pytest.mark.parametrize("capture", [True, False])
    def test_beside_an_answered_repeat_is_given_back(self, pay, simulator, pass_time, capture, decision):
        """Their server failed after the effect and cut the connection, so the key wasn't kept. The list shows it later."""
        simulator.account.delays.change({"idempotency_key": -1, "index": 5})
        simulator.account.decisions["Authorization"].extend(["10000", decision])
        simulator.plan.add("authorise: cut")

        answer = pay(capture=capture).json()
        settle(ROUNDS, pass_time)

        [payment] = Transaction.objects.all()
        made, charged, refunded, reserved = theirs(simulator, payment)
        assert (answer["status"], made) == (payment.status, 2)
        assert (charged - refunded, reserved) == kept(payment)
        assert payment.watches.first().returned_at
        call_command("check_ledger")

    def test_that_arrives_an_hour_after_a_failed_repeat_is_given_back(self, pay, simulator, pass_time):
        simulator.plan.add("authorise: arrive_late 4000", "authorise: error_after 502")

        pay()
        settle(ROUNDS, pass_time)
        settle(ROUNDS, pass_time)

        [payment] = Transaction.objects.all()
        made, charged, refunded, reserved = theirs(simulator, payment)
        assert (payment.status, made) == ("success", 2)
        assert (charged - refunded, reserved) == kept(payment)
        assert payment.watches.first().amount == payment.amount
        call_command("check_ledger")

    def test_whose_capture_overtakes_its_void_is_refunded(self, pay, simulator, pass_time):
        simulator.account.delays.change({"idempotency_key": -1, "index": 5, "capture": 70, "operation": 10})
        simulator.plan.add("authorise: cut")

        pay()
        settle([60, *ROUNDS], pass_time)

        [payment] = Transaction.objects.all()
        made, charged, refunded, reserved = theirs(simulator, payment)
        assert (payment.status, made) == ("success", 2)
        assert (charged - refunded, reserved) == kept(payment)

    def test_that_only_an_event_shows_is_given_back(self, pay, settings, simulator, pass_time):
        settings.CHECKOUT_WEBHOOK_KEYS = [provider_webhooks.CHECKOUT_KEY]
        simulator.plan.add("authorise: duplicate")
        pay()
        [payment] = Transaction.objects.all()
        first = payment.acquirer_reference
        assert not WatchedAuthorisation.objects.exists()

        [second] = [each for each in simulator.account.payments if each != first]
        document = provider_webhooks.about(payment, "payment_captured")
        document["data"]["id"] = second
        provider_webhooks.send(HttpClient(), provider_webhooks.CHECKOUT, document)
        for seconds in (0, 2, 5):
            pass_time(seconds)
            event_processing.process_due()
            look_at_watches()

        pass_time(60)
        look_at_watches()
        assert payment.watches.first().returned_at
        _, charged, refunded, reserved = theirs(simulator, payment)
        assert (charged - refunded, reserved) == kept(payment)


def kept(payment):
    """Return what a payment's acquirer may have charged and reserved in the end."""
    return payment.amount_captured, payment.amount if payment.awaiting == "capture" else 0
