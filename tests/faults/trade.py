"""Merchants that do everything at once, at a steady pace, and remember every word that they were given."""

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
from tests.faults.processes import PATIENCE, wait_until

THREADS = 48
LONG_PATIENCE = 3 * PATIENCE  # seconds in which a pending outcome is asked for
PAUSE = 0.2  # seconds before a call is made again
FINAL = ("success", "failed")
# What a merchant may meet beside success: the second capture of one that was answered into the void.
FORESEEN = {200, 201, 409}


class GivenUp(Exception):
    """A call was made again for as long as anybody has patience."""


@dataclass(frozen=True)
class Call:
    """One HTTP exchange: what was asked, the status that came back (0: none came), and how long it took."""

    target: str
    status: int
    began_at: float
    seconds: float
    failure: str = ""


class Pace:
    """Hands out moments to any number of threads, `rate` a second. What was missed is not made up for."""

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


class Trade:
    """All kinds of signed requests. A call that fails is made again with the same reference, as the docs say."""

    def __init__(self, shops: list[HttpClient], *, rate: float = 50, seed: int = 0) -> None:
        self.shops = shops
        self.calls: list[Call] = []
        self.orders: set[str] = set()  # references
        self.promises: dict[str, dict[str, Any]] = {}  # the last answer, by reference
        self.refunds: dict[str, str] = {}  # ids by reference
        self.told: set[str] = set()  # the transactions of which there is an event
        self.contradictions: list[Any] = []
        self.surprises: list[Any] = []
        self.given_up: list[str] = []
        self.began_at = datetime.now(tz=UTC)
        self._accounts: dict[str, str] = {}  # a virtual account of each shop, by its API key
        self._pace = Pace(rate)
        self._random = random.Random(seed)
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run) for _ in range(THREADS)]

    def open_accounts(self) -> None:
        """Give each shop a virtual account."""
        for shop in self.shops:
            made = self.ask(shop, "POST", "/api/virtual-accounts", orders.dynamic_account())
            self._accounts[shop.credentials.api_key] = made.json()["id"]

    def account_of(self, shop: HttpClient) -> str:
        return self._accounts[shop.credentials.api_key]

    def start(self) -> None:
        self.open_accounts()
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Begin no more stories, and bring those that are under way to their end."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def acknowledged_at(self) -> list[float]:
        """Return once a request was answered with success."""
        return sorted(call.began_at + call.seconds for call in self.calls if 0 < call.status < 300)

    def summary(self) -> str:
        seconds = max(call.began_at for call in self.calls) - min(call.began_at for call in self.calls)
        statuses = dict(sorted(Counter(call.status for call in self.calls).items()))
        return f"{len(self.calls)} calls in {seconds:.0f} s ({len(self.calls) / seconds:.0f}/s): {statuses}"

    def _run(self) -> None:
        while not self._over.is_set():
            story, shop = self._random.choice(STORIES), self._random.choice(self.shops)
            try:
                story(self, shop)
            except GivenUp as error:
                self.given_up.append(str(error))
            except Exception as error:  # the test reads it
                self.surprises.append(f"{story.__name__}: {error!r}")

    # Stories -----------------------------------------------------------------------------------------

    def pay(self, shop: HttpClient) -> None:
        self.order(shop, orders.card_payment(amount=20_000), "success")

    def be_declined(self, shop: HttpClient) -> None:
        self.order(shop, orders.card_payment(amount=20_051), "failed")

    def pay_and_refund(self, shop: HttpClient) -> None:
        paid = self.order(shop, orders.card_payment(amount=30_000), "success")
        refund = {"reference": orders.new_reference("rf"), "amount": 4_000}
        target = f"/api/payments/{paid['reference']}/refunds"
        answer = self.ask(shop, "POST", target, refund).json()
        if self.refunds.setdefault(refund["reference"], answer["id"]) != answer["id"]:
            self.contradictions.append(answer)

    def reserve_and_capture(self, shop: HttpClient) -> None:
        order = orders.card_payment(amount=40_000, capture=False)
        self.orders.add(order["reference"])
        self.remember(self.ask(shop, "POST", "/api/payments", order).json(), order)
        self.follow(shop, order, until=lambda payment: "authorization_code" in payment)
        # One whose answer was lost may have been taken: then it is 409, and the query tells.
        self.ask(shop, "POST", f"/api/payments/{order['reference']}/capture", {"amount": 35_000})
        self.expect(self.follow(shop, order), "success")

    def pass_the_challenge(self, shop: HttpClient) -> None:
        order = orders.card_payment(amount=50_000, source=orders.card_source(pan=orders.CHALLENGED_CARD))
        self.orders.add(order["reference"])
        opened = self.ask(shop, "POST", "/api/payments", order).json()
        self.remember(opened, order)
        opened = self.follow(shop, order, until=lambda payment: "redirect_link" in payment)
        self.enter_code(opened["redirect_link"])
        self.expect(self.follow(shop, order), "success")

    def pay_out(self, shop: HttpClient) -> None:
        self.order(shop, orders.payout(amount=60_000), "success")

    def be_paid_by_transfer(self, shop: HttpClient) -> None:
        order = orders.transfer_payment(self.account_of(shop), amount=70_000)
        self.orders.add(order["reference"])
        opened = self.ask(shop, "POST", "/api/payments", order).json()
        self.remember(opened, order)
        number = opened["virtual_account_details"]["account_number"]
        # The bank's transfer is no request of ours that could be repeated: without an answer, look it up first.
        while self.remember(self.ask(shop, "GET", place(order)).json(), order)["status"] == "pending":
            self.exchange(
                shop, "POST", "/api/virtual-accounts/simulate", {"account_number": number, "amount": 70_000}
            )
        self.expect(self.follow(shop, order), "success")

    def look_around(self, shop: HttpClient) -> None:
        for target in ("/api/payments?limit=20", "/api/balance", "/api/virtual-accounts"):
            self.ask(shop, "GET", target)

    # Their parts -------------------------------------------------------------------------------------

    def order(self, shop: HttpClient, order: dict[str, Any], outcome: str) -> dict[str, Any]:
        """Order something and see how it ends."""
        self.orders.add(order["reference"])
        answer = self.remember(self.ask(shop, "POST", "/api/payments", order).json(), order)
        if answer["status"] == "pending" or self._random.random() < 0.5:
            answer = self.follow(shop, order)
        self.expect(answer, outcome)
        return answer

    def follow(
        self,
        shop: HttpClient,
        order: dict[str, Any],
        *,
        until: Callable[[dict[str, Any]], bool] = lambda payment: payment["status"] in FINAL,
    ) -> dict[str, Any]:
        """Ask for it until it is so far, or finished otherwise."""
        end = time.monotonic() + LONG_PATIENCE
        while time.monotonic() < end:
            found = self.remember(self.ask(shop, "GET", place(order)).json(), order)
            if until(found) or found["status"] in FINAL:
                return found
            time.sleep(3 * PAUSE)
        raise GivenUp(f"{order['reference']} is still pending: {found}")

    def expect(self, answer: dict[str, Any], outcome: str) -> None:
        if answer["status"] != outcome:
            self.surprises.append(answer)

    def remember(self, answer: dict[str, Any], order: dict[str, Any]) -> dict[str, Any]:
        """Keep what was said. Whatever was said of it before still holds: its id, and how it ended."""
        with self._lock:
            before = self.promises.get(order["reference"], answer)
            if before["id"] != answer["id"] or before["status"] not in ("pending", answer["status"]):
                self.contradictions.append((before, answer))
            self.promises[order["reference"]] = answer
            self.told.add(answer["id"])
        return answer

    def enter_code(self, address: str) -> None:
        """Answer the challenge as its payer does, again where the page does not come."""
        end = time.monotonic() + PATIENCE
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
        raise GivenUp("the payer's page")

    def ask(self, shop: HttpClient, method: str, target: str, body: Any = None) -> requests.Response:
        """Ask until there is an answer; what is refused for now must say so in the way that it is documented."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            answer = self.exchange(shop, method, target, body)
            if answer is not None and answer.status_code != 503:
                if answer.status_code not in FORESEEN:
                    self.surprises.append((method, target, answer.status_code, answer.text[:300]))
                return answer
            time.sleep(PAUSE)
        raise GivenUp(f"{method} {target}")

    def exchange(
        self, shop: HttpClient, method: str, target: str, body: Any = None
    ) -> requests.Response | None:
        """Make one call in its time; None where there is no answer."""
        self._pace.wait()
        began_at, began = time.time(), time.perf_counter()
        answer, failure = None, ""
        try:
            answer = shop.get(target) if method == "GET" else shop.post(target, body)
        except requests.RequestException as error:
            failure = repr(error)
        status = 0 if answer is None else answer.status_code
        self.calls.append(Call(f"{method} {target}", status, began_at, time.perf_counter() - began, failure))
        if answer is not None and status == 503 and not is_proper_refusal(answer):
            self.surprises.append((method, target, status, answer.text[:300]))
        return answer


def place(order: dict[str, Any]) -> str:
    return f"/api/payments/{order['reference']}"


def is_proper_refusal(answer: requests.Response) -> bool:
    """Tell whether a 503 is the problem document, and says when to come again."""
    return (
        answer.headers.get("Content-Type") == "application/problem+json"
        and answer.json()["code"] == "temporarily_unavailable"
        and int(answer.headers["Retry-After"]) > 0
    )


STORIES = (
    *[Trade.pay] * 4,
    *[Trade.pay_out] * 3,
    *[Trade.pay_and_refund] * 2,
    *[Trade.reserve_and_capture] * 2,
    *[Trade.be_paid_by_transfer] * 2,
    Trade.pass_the_challenge,
    Trade.be_declined,
    Trade.look_around,
)


@contextmanager
def trading(shops: list[HttpClient], *, rate: float = 50, seed: int = 0) -> Iterator[Trade]:
    """Trade beside what the test does, and let every story end after it."""
    trade = Trade(shops, rate=rate, seed=seed)
    trade.start()
    try:
        wait_until(lambda: len(trade.promises) >= 20, what="answers")
        yield trade
    finally:
        trade.end()
