"""Web processes are killed between the hold of a payment link's use and the acquirer's answer."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
import requests

from tests import orders
from tests.faults.guarantees import check_ledger, wait_until_settled
from tests.faults.processes import HANGING, wait_until
from tests.payers import Payer, address_of

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("faults"), pytest.mark.timeout(HANGING)]

AT_ONCE = 4
COUNTS = """
    SELECT link.uses_held, link.uses_paid, link.amount_paid, count(*) FILTER (WHERE payment.status = 'pending'),
        count(*) FILTER (WHERE payment.status = 'success'),
        coalesce(sum(payment.amount) FILTER (WHERE payment.status = 'success'), 0)
    FROM payments_paymentlink link LEFT JOIN payments_transaction payment ON payment.payment_link_id = link.id
    WHERE link.id = %s GROUP BY link.id
"""


@pytest.fixture
def slow_stack(stack):
    """The service behind a proxy, with an acquirer that takes its time."""
    here = stack.web.options["env"]
    acquirer = {"CARD_ACQUIRER": "tests.rails.DeliberateAcquirer", "PROXIES_IN_FRONT": "1"}
    stack.web.kill()
    stack.web.options["env"] = here | acquirer
    try:
        stack.ensure_running()
        yield stack
    finally:
        stack.web.kill()
        stack.web.options["env"] = here


class Crowd:
    """Payers of one link, a few at once. `paid` has the checkouts whose payers read that they have paid."""

    def __init__(self, stack, link):
        self.paid = []
        self._stack, self._link, self._turns = stack, link, iter(range(10_000))
        self._over = threading.Event()

    def pay(self):
        while not self._over.is_set():
            payer = Payer(address_of(next(self._turns)), self._stack.base_url)
            with suppress(requests.RequestException):
                checkout = payer.begin(self._link["url"])
                if payer.pay_by_card(checkout).headers.get("Location") == f"{checkout}/receipt":
                    self.paid.append(checkout)
                continue
            time.sleep(0.1)

    def end(self):
        self._over.set()


def counts(stack, link):
    """Return held, paid and amount as counted, and as the payments say."""
    [(held, paid, amount, *of_payments)] = stack.query(COUNTS, link["id"])
    return (held, paid, amount), tuple(int(each) for each in of_payments)


def kill_while_held(stack, link, *, times):
    """Kill the web processes this often while uses are held. Return how many were held at each kill."""
    moments, held = random.Random(times), []
    for _ in range(times):
        wait_until(lambda: counts(stack, link)[0][0] > 0, what="a hold")
        time.sleep(moments.uniform(0, 0.2))
        stack.web.kill()
        counted, true = counts(stack, link)
        assert counted == true
        held.append(counted[0])
        stack.web.start()
        stack.wait_until_ready()
    return held


@pytest.mark.parametrize(
    "times", [pytest.param(3, marks=(pytest.mark.representative, pytest.mark.in_short)), 20]
)
def test_hold_and_payment_are_stored_together_or_not_at_all(slow_stack, times):
    shop = slow_stack.shops[0]
    link = shop.post("/api/payment-links", orders.payment_link(max_uses=900, payment_methods=["card"])).json()
    crowd = Crowd(slow_stack, link)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        payers = [pool.submit(crowd.pay) for _ in range(AT_ONCE)]
        try:
            held = kill_while_held(slow_stack, link, times=times)
        finally:
            crowd.end()
    for payer in payers:
        payer.result()

    wait_until_settled(slow_stack)
    check_ledger(slow_stack)
    counted, true = counts(slow_stack, link)
    assert counted == true
    assert counted[0] == 0
    for turn, checkout in enumerate(crowd.paid, start=20_000):
        assert (
            Payer(address_of(turn), slow_stack.base_url).get(checkout).headers["Location"]
            == f"{checkout}/receipt"
        )
    assert counted[1] >= len(crowd.paid)
    print(f"{times} kills, held at each {held}; {len(crowd.paid)} payers read of success, {counted[1]} paid")
