"""Workers are killed at any moment while they check and send a payout batch, and its bank hangs, cuts and repeats.

The kills are spread over the items, not over the clock: however fast the machine is, each one meets a batch at work.
"""

import random
import time
from collections import Counter

import pytest

from payments.simulators.bank import BankSimulator
from payments.simulators.fault_injection import Fault
from tests import orders
from tests.faults.guarantees import all_rows, check_ledger
from tests.faults.processes import HANGING, wait_until
from tests.serving import simulator_serving

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("faults"), pytest.mark.timeout(2 * HANGING)]

BATCHES = "/api/payout-batches"
AMOUNT = 20_000
FAULTS = ["swallow", "delay 1", "twice", "cut", "lose_and_cut", "half", "garbage"]
PAYOUTS_PER_KILL = 10
NOT_CHECKED = "SELECT count(*) FROM payout_batches_payoutbatchitem WHERE state = 'checking'"
NOT_SENT = """
    SELECT count(*) FROM payout_batches_payoutbatchitem WHERE state NOT IN ('sent', 'failed', 'cancelled')
"""


@pytest.fixture
def bank(stack):
    """A bank that two workers and the web processes call, with short time-outs."""
    processes = [stack.web, *stack.workers]
    before = [each.options["env"] for each in processes]
    with simulator_serving(BankSimulator(client_id="sluice", key="shared-key-of-a-test")) as running:
        variables = {
            "PAYOUT_BANK": "http",
            "BANK_URL": running.url,
            "BANK_CLIENT_ID": running.client_id,
            "BANK_SECRET_KEY": running.key,
            "BANK_TIMEOUT": "2",
            "PAYOUT_BATCH_RATE": "5",
        }
        restart(stack, processes, [env | variables for env in before], workers=2)
        try:
            yield running
        finally:
            restart(stack, processes, before, workers=1)


def restart(stack, processes, environments, *, workers):
    for process, environment in zip(processes, environments, strict=True):
        process.kill()
        process.options["env"] = environment
    stack.ensure_running(workers=workers)


def kill_workers(stack, moments, *, times, left, items):
    """Kill one of the two workers this often while items are `left`, and return how many were left at each kill.

    Each kill waits for its share of the items. The worker that goes on may send many of them while the other one starts.
    """
    seen = []
    for number in range(times):
        share = items * (times - number) // (times + 1)
        wait_until(lambda at=share: count(stack, left) <= at, what=f"kill {number + 1}")
        time.sleep(moments.uniform(0, 0.2))  # between two items
        killed = moments.choice(stack.workers)
        killed.kill()
        seen.append(count(stack, left))
        killed.start()
    return seen


def count(stack, left):
    return stack.query(left)[0][0]


def accept_all(shop, path):
    """Release a batch whose checks found that the accounts have other names."""
    items = all_rows(shop, f"{path}/payouts?limit=100")
    found = {each["reference"]: "Known" for each in items if each["status"] != "ok"}
    answer = shop.post(f"{path}/approve", {"accept": found})
    assert answer.status_code == 200, answer.content


@pytest.mark.parametrize(
    "times", [pytest.param(3, marks=(pytest.mark.representative, pytest.mark.in_short)), 50]
)
def test_every_payout_of_a_batch_is_paid_once(stack, bank, times):
    moments, shop = random.Random(times), stack.shops[0]
    items = [orders.batch_item(place, amount=AMOUNT) for place in range(PAYOUTS_PER_KILL * times)]
    made = shop.post(BATCHES, orders.payout_batch(*items))
    assert made.status_code == 201, made.content
    path = f"{BATCHES}/{made.json()['reference']}"

    kill_workers(stack, moments, times=max(1, times // 10), left=NOT_CHECKED, items=len(items))
    wait_until(lambda: shop.get(path).json()["status"] != "checking", what="checks")
    accept_all(shop, path)
    bank.plan.extend(Fault.read(moments.choice([*FAULTS, "answer", "answer"])) for _ in items)
    unsent = kill_workers(stack, moments, times=times, left=NOT_SENT, items=len(items))
    bank.plan.clear()
    wait_until(lambda: shop.get(path).json()["status"] == "completed", seconds=HANGING, what="the batch")

    assert shop.get(path).json()["counts"] == {"success": len(items)}
    assert shop.get(path).json()["sums"] == {"success": AMOUNT * len(items)}
    assert Counter(bank.books.all_paid().values()) == {AMOUNT: len(items)}
    check_ledger(stack)
    assert all(unsent), f"a kill met a batch that was sent: {unsent}"
