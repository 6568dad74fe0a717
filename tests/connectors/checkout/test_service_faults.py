"""Whatever goes wrong between us and Checkout.com, both books say the same in the end."""

import random

import pytest
from django.core.management import call_command

from connectors.checkout.references import reference_of
from payments.models import CardOperation, Transaction
from payments.tasks import look_at_watches
from tests import orders
from tests.connectors.checkout.connecting import GOOD_CARD, requery

PAYMENTS = "/api/payments"
WORDS = [
    "answer", "swallow", "lose", "cut", "lose_and_cut", "half", "garbage", "error 500", "error 404", "error 409",
    "error 429", "hide 60",
]  # fmt: skip
# One of these at a time: a request that arrives after its repeat has failed there with an effect is carried out twice,
# because Checkout.com keeps no keys of errors.
LATE, WITH_EFFECT = ["arrive_late 20", "arrive_late 4000", "delay 20"], ["error_after 502", "error_after 503"]
OPERATIONS = ["capture", "void", "refunds"]
ROUNDS = [2, 10, 30, 120, 900, 900, 3600]  # seconds between queries


def play(chance, api, simulator, pass_time):
    """Make a payment and an operation on it, with faults at random, and query until all is over."""
    further = chance.choice([LATE, WITH_EFFECT])
    simulator.plan.add(*chance.choices(WORDS + further, k=chance.randint(0, 5)))
    # With an effect, also behind a cut connection: no key is kept, and a repeat makes a second payment.
    keys_kept = chance.choice([-1, 24 * 3600]) if further is WITH_EFFECT else 24 * 3600
    simulator.account.delays.change({"idempotency_key": keys_kept, "index": chance.choice([0, 5, 30])})
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


SEEDS = [*range(4), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 30))]


@pytest.mark.parametrize("seed", SEEDS)
def test_books_agree(api, simulator, transport, pass_time, seed):
    chance = random.Random(seed)
    for _ in range(3):
        play(chance, api, simulator, pass_time)

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


@pytest.mark.parametrize("second", ["10000", "20005"])
def test_payment_beside_its_repeat_is_found_when_it_is_listed(pay, simulator, pass_time, second):
    """Their server failed after the effect and cut the connection, so the key wasn't kept. The list shows it later."""
    simulator.account.delays.change({"idempotency_key": -1, "index": 5})
    simulator.account.decisions["Authorization"].extend(["10000", second])
    simulator.plan.add("authorise: cut")

    answer = pay().json()
    settle(ROUNDS, pass_time)

    [payment] = Transaction.objects.all()
    made, charged, refunded, reserved = theirs(simulator, payment)
    assert (answer["status"], payment.status, made) == ("pending", "success", 2)
    assert (charged - refunded, reserved) == (payment.amount_captured, 0)


def test_payment_beside_its_repeat_is_refunded_if_its_capture_overtakes_the_void(pay, simulator, pass_time):
    simulator.account.delays.change({"idempotency_key": -1, "index": 5, "capture": 15, "operation": 10})
    simulator.plan.add("authorise: cut")

    pay()
    settle([10, *ROUNDS], pass_time)

    [payment] = Transaction.objects.all()
    made, charged, refunded, reserved = theirs(simulator, payment)
    assert (payment.status, made) == ("success", 2)
    assert (charged - refunded, reserved) == (payment.amount_captured, 0)
