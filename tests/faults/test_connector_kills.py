"""Every process of ours is killed at a step of a call to Checkout.com or Paystack, and their books are compared with ours."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
import requests

from config.runtime import simulated_providers
from connectors.checkout.api.references import reference_of
from connectors.checkout.simulator.control.faults import CallFault
from connectors.checkout.simulator.server import CheckoutServer
from connectors.checkout.simulator.simulator import Answer
from connectors.checkout.simulator.simulator import Simulator as SimulatedCheckout
from connectors.paystack.simulator.integration import Settings
from connectors.paystack.simulator.server import Server as PaystackServer
from connectors.paystack.simulator.simulator import Simulator as SimulatedPaystack
from payments.simulators.fault_injection import Fault, FaultKind
from tests import orders
from tests.connectors.checkout.connecting import GOOD_CARD
from tests.faults.guarantees import check_ledger
from tests.faults.processes import HANGING, wait_until
from tests.serving import simulator_serving

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("faults"), pytest.mark.timeout(HANGING)]

PAYMENTS, ADVANCE = "/api/payments", "/api/sandbox/advance"
UNSENT = CallFault.read("lose_and_cut"), Fault(FaultKind.LOSE_AND_CUT)
BEFORE, AFTER, ANSWERED = "before it arrives", "after it was carried out", "when it is answered"
# A capture or refund that never arrived is sent again after ten minutes or more, which tests of the connector let pass.
STEPS = [
    *(("authorise", step) for step in (BEFORE, AFTER, ANSWERED)),
    *((call, step) for call in ("captures", "refunds", "get_actions") for step in (AFTER, ANSWERED)),
    *(("POST /transfer", step) for step in (BEFORE, AFTER, ANSWERED)),
    *(("POST /transferrecipient", step) for step in (BEFORE, AFTER)),
    ("GET /transfer/verify", AFTER),
]
PENDING = "SELECT reference FROM payments_transaction WHERE status = 'pending' AND awaiting <> 'capture'"
OPERATIONS = "SELECT 1 FROM payments_cardoperation WHERE status = 'pending' LIMIT 1"


class Killer:
    """Kills web and worker at one step of the next call of a kind."""

    def __init__(self, stack):
        self.stack, self.planned, self.lock = stack, (), threading.Lock()
        self.kills = []

    def around(self, call, *, execute, unsent):
        """Carry a call of ours out, and return its answer."""
        with self.lock:
            step = self.planned[1] if self.planned[:1] == (call,) else ""
            self.planned = () if step else self.planned
        if step == BEFORE:
            self.kill(call, step)
            return unsent
        answer = execute()
        if step == AFTER:
            self.kill(call, step)
        if step == ANSWERED:
            threading.Timer(random.Random(len(self.kills)).uniform(0, 0.05), self.kill, [call, step]).start()
        return answer

    def kill(self, call, step):
        for process in (self.stack.web, self.stack.workers[0]):
            process.kill()
        self.kills.append((call, step))


@pytest.fixture
def killer(stack):
    return Killer(stack)


@pytest.fixture
def providers(stack, killer, monkeypatch):
    """Simulators of both, which web and worker use as their rails."""
    checkout = SimulatedCheckout()
    checkout.account.delays.change(
        {"capture": 0, "operation": 0}
    )  # a refund that came too early waits ten minutes
    checkout.outbox.notify(f"{stack.base_url}/connectors/checkout", simulated_providers.CHECKOUT_WEBHOOK_KEY)
    paystack = SimulatedPaystack(Settings(webhook_url=f"{stack.base_url}/connectors/paystack"))
    let_kill(checkout, paystack, killer, monkeypatch)
    processes = [stack.web, *stack.workers, stack.beat]
    before = [each.options["env"] for each in processes]
    with (
        simulator_serving(CheckoutServer(simulator=checkout)) as cards,
        simulator_serving(PaystackServer(paystack)) as payouts,
    ):
        variables = simulated_providers.environment_for(["checkout", "paystack"])
        variables |= {"CHECKOUT_URL": cards.url, "PAYSTACK_URL": payouts.url}
        restart(stack, processes, [env | variables for env in before])
        try:
            yield checkout, paystack
        finally:
            restart(stack, processes, before)


def let_kill(checkout, paystack, killer, monkeypatch):
    to_checkout, to_paystack = checkout.exchange, paystack.exchange

    def call_checkout(call, *, wait):
        unsent = (Answer(500, {}, b""), UNSENT[0])
        return killer.around(call.name, execute=lambda: to_checkout(call, wait=wait), unsent=unsent)

    def call_paystack(method, target, *rest):
        name = f"{method} /{'/'.join(target.partition('?')[0].split('/')[1:3])}"
        execute = lambda: to_paystack(method, target, *rest)  # noqa: E731
        return killer.around(name, execute=execute, unsent=(None, UNSENT[1]))

    monkeypatch.setattr(checkout, "exchange", call_checkout)
    monkeypatch.setattr(paystack, "exchange", call_paystack)


def restart(stack, processes, environments):
    for process, environment in zip(processes, environments, strict=True):
        process.kill()
        process.options["env"] = environment
    stack.ensure_running()


def send(shop, path, body):
    """Send a request until it is answered. Its reference makes repeats harmless."""
    while True:
        try:
            answer = shop.post(path, body)
        except requests.RequestException:
            answer = None
        if answer is not None and answer.status_code not in {502, 503}:
            return answer
        time.sleep(0.2)


def trade(shop, chance):
    """Take a payment, capture and refund it as far as it goes, and make a payout."""
    source = orders.card_source(pan=GOOD_CARD, cvv="100")
    made = orders.card_payment(source=source, capture=chance.random() < 0.5)
    send(shop, PAYMENTS, made)
    send(shop, f"{PAYMENTS}/{made['reference']}/capture", {})
    refund = {"reference": f"{made['reference']}-r", "amount": 20_000}
    send(shop, f"{PAYMENTS}/{made['reference']}/refunds", refund)
    send(shop, PAYMENTS, orders.payout(amount=20_000))


def come_to_rest(stack, shop):
    """Let what never arrived be given up, and wait until every outcome is known."""

    def is_over():
        pending = stack.query(PENDING)
        for (reference,) in pending:
            until = {"until": "watch"} if reference.startswith("ref") else {}
            shop.post(ADVANCE, {"payment": reference} | until)
        return not pending and not stack.query(OPERATIONS)

    wait_until(is_over, seconds=900, what="every outcome")


def assert_books_agree(stack, checkout, paystack):
    rows = stack.query(
        "SELECT id::text, request_type, status, awaiting, amount, amount_captured, amount_refunded FROM payments_transaction"
        " WHERE connector IN ('checkout', 'paystack')"
    )
    payouts = {
        UUID(key).hex: amount
        for key, kind, status, _, amount, *_ in rows
        if kind == "payout" and status == "success"
    }
    assert paystack.books()["paid_out"] == payouts
    theirs = checkout.books()["payments"].values()
    for key, kind, status, awaiting, amount, captured, refunded in rows:
        if kind == "payout":
            continue
        found = [each for each in theirs if each["reference"] == reference_of(UUID(key))]
        kept = sum(each["charged"] - each["refunded"] for each in found)
        reserved = sum(each["reserved"] for each in found)
        expected = (
            (captured - refunded, 0) if status == "success" else (0, amount if awaiting == "capture" else 0)
        )
        assert (kept, reserved) == expected, (key, status, awaiting, found)


@pytest.mark.parametrize(
    "times", [pytest.param(4, marks=(pytest.mark.representative, pytest.mark.in_short)), len(STEPS), 200]
)
def test_books_agree_whenever_we_are_killed(stack, providers, killer, times):
    chance, shop = random.Random(times), stack.shops[0]
    with ThreadPoolExecutor(1) as pool:
        for number in range(times):
            killer.planned = STEPS[number % len(STEPS)]
            before, trading = len(killer.kills), pool.submit(trade, shop, chance)
            # A step that was reached kills soon, perhaps after the trade. A trade may not reach its step.
            is_over = lambda: len(killer.kills) > before or (killer.planned and trading.done())  # noqa: B023, E731
            wait_until(is_over, what=str(killer.planned))
            stack.ensure_running()
            trading.result()
    killer.planned = ()
    come_to_rest(stack, shop)

    assert_books_agree(stack, *providers)
    check_ledger(stack)
    print(f"killed at {dict.fromkeys(killer.kills)}")
