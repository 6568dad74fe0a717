"""Card payments at a constant rate, while a test kills processes."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle

import requests

from tests import orders
from tests.clients import HttpClient
from tests.faults.processes import WAIT_LIMIT, wait_until


class PaymentLoad:
    """Payments at a constant rate. A failed call is retried with the same reference, as documented."""

    def __init__(self, shops: list[HttpClient], *, rate: float = 30) -> None:
        self._shops = cycle(shops)
        self._rate = rate
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(32)
        self.acknowledged: dict[str, float] = {}  # by transaction: time of the response
        self.abandoned: list[str] = []

    def run(self) -> None:
        started, count = time.monotonic(), 0
        while not self._over.is_set() and count < 20_000:
            count += 1
            self._pool.submit(self._pay, next(self._shops))
            self._over.wait(max(0, started + count / self._rate - time.monotonic()))

    def _pay(self, shop: HttpClient) -> None:
        order = orders.card_payment(amount=20_000)
        end = time.monotonic() + WAIT_LIMIT
        while time.monotonic() < end:
            try:
                answer = shop.post("/api/payments", order)
            except requests.RequestException:
                time.sleep(0.2)
                continue
            if answer.ok:
                self.acknowledged[answer.json()["id"]] = time.time()
                return
            time.sleep(0.2)
        self.abandoned.append(order["reference"])

    def pay_at_intervals(self, *, seconds: float, pause: float) -> None:
        """Pay one at a time, with a pause after each in which the workers become idle."""
        ends_at = time.monotonic() + seconds
        while time.monotonic() < ends_at:
            self._pay(next(self._shops))
            time.sleep(pause)

    def end(self) -> None:
        self._over.set()
        self._pool.shutdown(wait=True)


@contextmanager
def under_load(shops: list[HttpClient], *, rate: float = 30) -> Iterator[PaymentLoad]:
    load = PaymentLoad(shops, rate=rate)
    thread = threading.Thread(target=load.run)
    thread.start()
    try:
        wait_until(lambda: len(load.acknowledged) >= 10, what="payments")
        yield load
    finally:
        load.end()
        thread.join()
