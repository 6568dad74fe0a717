"""Crowds of payers at one payment link, each with an address of their own, against a service in separate processes.

LINK_ROUNDS=50 runs the long variant: so many links, each with two hundred payers at once.
"""

import os
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import pytest

from tests import orders
from tests.journeys.service import start_service
from tests.payers import Payer, address_of, card_number

ROUNDS = int(os.environ.get("LINK_ROUNDS", "1"))

pytestmark = [
    pytest.mark.journey,
    pytest.mark.long,
    pytest.mark.xdist_group("journey"),
    pytest.mark.timeout(180 + 120 * ROUNDS),
]

USES = 3
LOOK_AGAIN = 0.2  # seconds


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A service behind a proxy, whose acquirer records each call in a file, and that file."""
    folder = tmp_path_factory.mktemp("crowd")
    calls = folder / "calls"
    acquirer = {"CARD_ACQUIRER": "tests.rails.RecordingAcquirer", "RECORDED_CALLS": str(calls)}
    with start_service(folder, PROXIES_IN_FRONT="1", LOG_REQUESTS="False", **acquirer) as running:
        yield running, calls
        checked = running.command("check_ledger")
        assert checked.returncode == 0, checked.stdout + checked.stderr


class Crowd:
    """Payers who press the button of the card page at the same moment, until they have paid or the link is used up."""

    def __init__(self, service, link, count, *, first):
        self.link, self.statuses, self.seen = link, Counter(), Counter()
        self._client, self._chance = service.client, random.Random(first)
        self._line = threading.Barrier(count)
        self._over = threading.Event()
        self._payers = [
            (turn, Payer(address_of(turn), service.base_url)) for turn in range(first, first + count)
        ]

    def pay(self):
        """Let everybody pay, and return how often each result came."""
        with ThreadPoolExecutor(len(self._payers)) as pool, self._watching():
            results = [future.result() for future in [pool.submit(self._pay, *each) for each in self._payers]]
        return Counter(results)

    def _pay(self, turn, payer):
        checkout = payer.begin(self.link["url"])
        self._line.wait(timeout=120)
        while True:
            answer = payer.pay_by_card(checkout, card_number(turn))
            self.statuses[answer.status_code] += 1
            if answer.status_code == 303:
                assert "/3ds/" in answer.headers["Location"]
                time.sleep(self._chance.uniform(0, LOOK_AGAIN / 2))
                return self._at_the_bank(turn, payer, checkout, answer)
            if answer.status_code == 410:
                return "used up"
            assert answer.status_code in {409, 503}, answer.text
            time.sleep(LOOK_AGAIN * self._chance.uniform(0.5, 1.5))

    def _at_the_bank(self, turn, payer, checkout, answer):
        """Enter the code, or leave as two of three payers do: another one gets the use."""
        if turn % 3:
            assert payer.end(checkout).headers["Location"] == checkout
            return "ended"
        assert payer.confirm(answer).status_code == 303
        assert payer.get(checkout).headers["Location"] == f"{checkout}/receipt"
        return "paid"

    @contextmanager
    def _watching(self):
        """Read the counts of the link all the time."""
        watcher = threading.Thread(target=self._watch)
        watcher.start()
        try:
            yield
        finally:
            self._over.set()
            watcher.join()

    def _watch(self):
        while not self._over.is_set():
            shown = self._client.get(f"/api/payment-links/{self.link['reference']}").json()
            self.seen[shown["uses_held"], shown["uses_paid"]] += 1
            time.sleep(0.02)


def make_link(service, **changes):
    answer = service.client.post("/api/payment-links", orders.payment_link(**changes))
    assert answer.status_code == 201, answer.text
    return answer.json()


def payments_of(service, link):
    found = service.client.get(f"/api/payments?payment_link_id={link['id']}&limit=100").json()["data"]
    return Counter(payment["status"] for payment in found)


@pytest.mark.parametrize(("count", "rounds"), [(50, 1), (200, ROUNDS)])
def test_crowd_never_exceeds_the_uses(recorded, count, rounds):
    """Tests the condition of the UPDATE in `link_uses.hold`."""
    service, _ = recorded
    began, statuses, most = time.monotonic(), Counter(), Counter()
    for turn in range(rounds):
        link = make_link(service, max_uses=USES)
        crowd = Crowd(service, link, count, first=count * (turn + 1))

        results = crowd.pay()

        assert results["paid"] == USES, results
        assert payments_of(service, link)["success"] == USES
        assert payments_of(service, link)["pending"] == 0
        assert all(held + paid <= USES for held, paid in crowd.seen), crowd.seen
        shown = service.client.get(f"/api/payment-links/{link['reference']}").json()
        assert (shown["status"], shown["uses_paid"], shown["uses_held"]) == ("used_up", USES, 0)
        assert shown["amount_paid"] == USES * link["amount"]
        statuses += crowd.statuses
        most[max(held for held, _ in crowd.seen)] += 1
    seconds = time.monotonic() - began
    print(f"{rounds} x {count} payers in {seconds:.0f} s: answers {dict(statuses)}, most held {dict(most)}")


def test_one_form_posted_a_hundred_times_is_one_payment(recorded):
    """Tests the lock on the checkout in `link_uses.hold`."""
    service, calls = recorded
    link = make_link(service, max_uses=USES)
    payer = Payer(address_of(20), service.base_url)
    checkout = payer.begin(link["url"])
    others = [Payer(payer.address, service.base_url) for _ in range(100)]

    with ThreadPoolExecutor(100) as pool:
        answers = [
            future.result()
            for future in [pool.submit(partial(each.pay_by_card, checkout)) for each in others]
        ]

    assert Counter(answer.status_code for answer in answers) == {303: 100}
    assert {answer.headers["Location"] for answer in answers} <= {checkout, f"{checkout}/receipt"}
    assert payer.get(checkout).headers["Location"] == f"{checkout}/receipt"
    [payment] = service.client.get(f"/api/payments?payment_link_id={link['id']}").json()["data"]
    assert calls.read_text().splitlines().count(f"authorise {payment['id']}") == 1
    assert payment["status"] == "success"
