"""Merchants that make all kinds of requests concurrently, at a constant rate, and record every response."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import requests

from tests import orders
from tests.clients import HttpClient
from tests.faults.processes import WAIT_LIMIT, wait_until

THREADS = 48
LONG_WAIT_LIMIT = 3 * WAIT_LIMIT  # seconds to wait for a pending outcome
PAUSE = 0.2  # seconds before a retry
FINAL = ("success", "failed")
# 409 answers the retry of a capture whose response was lost.
EXPECTED_STATUSES = {200, 201, 409}


class Abandoned(Exception):
    """A call was retried until the time limit."""


@dataclass(frozen=True)
class Call:
    """One HTTP exchange: its target, the status (0: no response) and its duration."""

    target: str
    status: int
    began_at: float
    seconds: float
    failure: str = ""


class RateLimiter:
    """Limits any number of threads to `rate` calls a second. Missed calls are not made up for."""

    def __init__(self, rate: float) -> None:
        self._gap = 1 / rate
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self) -> None:
        with self._lock:
            now = time.monotonic()
            self._next = max(self._next + self._gap, now)
            moment = self._next
        time.sleep(max(moment - now, 0))


class MixedLoad:
    """All kinds of signed requests. A failed call is retried with the same reference, as documented."""

    def __init__(self, shops: list[HttpClient], *, rate: float = 50, seed: int = 0) -> None:
        self.shops = shops
        self.calls: list[Call] = []
        self.orders: set[str] = set()  # references
        self.last_answers: dict[str, dict[str, Any]] = {}  # the last answer, by reference
        self.refunds: dict[str, str] = {}  # ids by reference
        self.notified: set[str] = set()  # the transactions with an event
        self.contradictions: list[Any] = []
        self.unexpected: list[Any] = []
        self.abandoned: list[str] = []
        self.began_at = datetime.now(tz=UTC)
        self._accounts: dict[str, str] = {}  # a virtual account of each shop, by its API key
        self._pace = RateLimiter(rate)
        self._random = random.Random(seed)
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run) for _ in range(THREADS)]

    def open_accounts(self) -> None:
        """Give each shop a virtual account."""
        for shop in self.shops:
            made = self.send(shop, "POST", "/api/virtual-accounts", orders.dynamic_account())
            self._accounts[shop.credentials.api_key] = made.json()["id"]

    def account_of(self, shop: HttpClient) -> str:
        return self._accounts[shop.credentials.api_key]

    def start(self) -> None:
        self.open_accounts()
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Start no more scenarios, and wait for the running ones."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def acknowledged_at(self) -> list[float]:
        """Return the times of all successful responses."""
        return sorted(call.began_at + call.seconds for call in self.calls if 0 < call.status < 300)

    def summary(self) -> str:
        seconds = max(call.began_at for call in self.calls) - min(call.began_at for call in self.calls)
        statuses = dict(sorted(Counter(call.status for call in self.calls).items()))
        return f"{len(self.calls)} calls in {seconds:.0f} s ({len(self.calls) / seconds:.0f}/s): {statuses}"

    def _run(self) -> None:
        while not self._over.is_set():
            scenario, shop = self._random.choice(SCENARIOS), self._random.choice(self.shops)
            try:
                scenario(self, shop)
            except Abandoned as error:
                self.abandoned.append(str(error))
            except Exception as error:  # the test reads it
                self.unexpected.append(f"{scenario.__name__}: {error!r}")

    # Scenarios -----------------------------------------------------------------------------------------

    def pay(self, shop: HttpClient) -> None:
        self.order(shop, orders.card_payment(amount=20_000), "success")

    def decline(self, shop: HttpClient) -> None:
        self.order(shop, orders.card_payment(amount=20_051), "failed")

    def pay_and_refund(self, shop: HttpClient) -> None:
        paid = self.order(shop, orders.card_payment(amount=30_000), "success")
        refund = {"reference": orders.new_reference("rf"), "amount": 4_000}
        target = f"/api/payments/{paid['reference']}/refunds"
        answer = self.send(shop, "POST", target, refund).json()
        if self.refunds.setdefault(refund["reference"], answer["id"]) != answer["id"]:
            self.contradictions.append(answer)

    def reserve_and_capture(self, shop: HttpClient) -> None:
        order = orders.card_payment(amount=40_000, capture=False)
        self.orders.add(order["reference"])
        self.record(self.send(shop, "POST", "/api/payments", order).json(), order)
        self.wait_for_outcome(shop, order, until=lambda payment: "authorization_code" in payment)
        # If its response is lost, the retry is a 409, and the next query returns the outcome.
        self.send(shop, "POST", f"/api/payments/{order['reference']}/capture", {"amount": 35_000})
        self.assert_outcome(self.wait_for_outcome(shop, order), "success")

    def pass_the_challenge(self, shop: HttpClient) -> None:
        order = orders.card_payment(amount=50_000, source=orders.card_source(pan=orders.CHALLENGED_CARD))
        self.orders.add(order["reference"])
        opened = self.send(shop, "POST", "/api/payments", order).json()
        self.record(opened, order)
        found = self.wait_for_outcome(shop, order, until=awaits_payer)
        end = time.monotonic() + LONG_WAIT_LIMIT
        # The acquirer asks again if it isn't known that the code was entered, because the database was lost then.
        while awaits_payer(found) and time.monotonic() < end:
            self.enter_code(found["redirect_link"])
            found = self.wait_for_outcome(shop, order, until=awaits_payer)
        self.assert_outcome(found, "success")

    def pay_out(self, shop: HttpClient) -> None:
        self.order(shop, orders.payout(amount=60_000), "success")

    def receive_transfer(self, shop: HttpClient) -> None:
        order = orders.transfer_payment(self.account_of(shop), amount=70_000)
        self.orders.add(order["reference"])
        opened = self.send(shop, "POST", "/api/payments", order).json()
        self.record(opened, order)
        number = opened["virtual_account_details"]["account_number"]
        # A simulated transfer has no idempotency key: without a response, query the payment before a retry.
        while self.record(self.send(shop, "GET", path_of(order)).json(), order)["status"] == "pending":
            self.send_once(
                shop, "POST", "/api/virtual-accounts/simulate", {"account_number": number, "amount": 70_000}
            )
        self.assert_outcome(self.wait_for_outcome(shop, order), "success")

    def read_lists(self, shop: HttpClient) -> None:
        for target in ("/api/payments?limit=20", "/api/balance", "/api/virtual-accounts"):
            self.send(shop, "GET", target)

    # Steps -------------------------------------------------------------------------------------

    def order(self, shop: HttpClient, order: dict[str, Any], outcome: str) -> dict[str, Any]:
        """Create a transaction and wait for its outcome."""
        self.orders.add(order["reference"])
        answer = self.record(self.send(shop, "POST", "/api/payments", order).json(), order)
        if answer["status"] == "pending" or self._random.random() < 0.5:
            answer = self.wait_for_outcome(shop, order)
        self.assert_outcome(answer, outcome)
        return answer

    def wait_for_outcome(
        self,
        shop: HttpClient,
        order: dict[str, Any],
        *,
        until: Callable[[dict[str, Any]], bool] = lambda payment: payment["status"] in FINAL,
    ) -> dict[str, Any]:
        """Query a transaction until the condition holds or it is final."""
        end = time.monotonic() + LONG_WAIT_LIMIT
        while time.monotonic() < end:
            found = self.record(self.send(shop, "GET", path_of(order)).json(), order)
            if until(found) or found["status"] in FINAL:
                return found
            time.sleep(3 * PAUSE)
        raise Abandoned(f"{order['reference']} is still pending: {found}")

    def assert_outcome(self, answer: dict[str, Any], outcome: str) -> None:
        if answer["status"] != outcome:
            self.unexpected.append(answer)

    def record(self, answer: dict[str, Any], order: dict[str, Any]) -> dict[str, Any]:
        """Record a response. It must agree with earlier ones in id and final status."""
        with self._lock:
            before = self.last_answers.get(order["reference"], answer)
            if before["id"] != answer["id"] or before["status"] not in ("pending", answer["status"]):
                self.contradictions.append((before, answer))
            self.last_answers[order["reference"]] = answer
            self.notified.add(answer["id"])
        return answer

    def enter_code(self, address: str) -> None:
        """Answer the challenge as the payer, with retries if the page does not respond."""
        end = time.monotonic() + WAIT_LIMIT
        while time.monotonic() < end:
            try:
                answer = requests.post(
                    address, data={"action": "approve", "code": "123456"}, timeout=30, allow_redirects=False
                )
            except requests.RequestException:
                answer = None
            if answer is not None and answer.status_code < 500:
                return
            time.sleep(PAUSE)
        raise Abandoned("the payer's page")

    def send(self, shop: HttpClient, method: str, target: str, body: Any = None) -> requests.Response:
        """Retry until there is a response other than a documented 503."""
        end = time.monotonic() + WAIT_LIMIT
        while time.monotonic() < end:
            answer = self.send_once(shop, method, target, body)
            if answer is not None and answer.status_code != 503:
                if answer.status_code not in EXPECTED_STATUSES:
                    self.unexpected.append((method, target, answer.status_code, answer.text[:300]))
                return answer
            time.sleep(PAUSE)
        raise Abandoned(f"{method} {target}")

    def send_once(
        self, shop: HttpClient, method: str, target: str, body: Any = None
    ) -> requests.Response | None:
        """Make one call within the rate limit. Returns None without a response."""
        self._pace.wait()
        began_at, began = time.time(), time.perf_counter()
        answer, failure = None, ""
        try:
            answer = shop.get(target) if method == "GET" else shop.post(target, body)
        except requests.RequestException as error:
            failure = repr(error)
        status = 0 if answer is None else answer.status_code
        self.calls.append(Call(f"{method} {target}", status, began_at, time.perf_counter() - began, failure))
        if answer is not None and status == 503 and not is_valid_503(answer):
            self.unexpected.append((method, target, status, answer.text[:300]))
        return answer


def awaits_payer(payment: dict[str, Any]) -> bool:
    return "redirect_link" in payment


def path_of(order: dict[str, Any]) -> str:
    return f"/api/payments/{order['reference']}"


def is_valid_503(answer: requests.Response) -> bool:
    """Return whether a 503 is the documented problem, with Retry-After."""
    return (
        answer.headers.get("Content-Type") == "application/problem+json"
        and answer.json()["code"] == "temporarily_unavailable"
        and int(answer.headers["Retry-After"]) > 0
    )


SCENARIOS = (
    *[MixedLoad.pay] * 4,
    *[MixedLoad.pay_out] * 3,
    *[MixedLoad.pay_and_refund] * 2,
    *[MixedLoad.reserve_and_capture] * 2,
    *[MixedLoad.receive_transfer] * 2,
    MixedLoad.pass_the_challenge,
    MixedLoad.decline,
    MixedLoad.read_lists,
)


@contextmanager
def running_mixed_load(shops: list[HttpClient], *, rate: float = 50, seed: int = 0) -> Iterator[MixedLoad]:
    """Run the load during a test, and wait for every scenario at its end."""
    mixed_load = MixedLoad(shops, rate=rate, seed=seed)
    mixed_load.start()
    try:
        wait_until(lambda: len(mixed_load.last_answers) >= 20, what="answers")
        yield mixed_load
    finally:
        mixed_load.end()
