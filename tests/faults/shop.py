"""Both sides of a merchant under load: payments at a steady pace, and a receiver that can be told to wait."""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle

import requests

from tests import orders
from tests.clients import HttpClient
from tests.faults.processes import PATIENCE, wait_until


@dataclass(frozen=True)
class Arrival:
    at: float
    event_id: str
    number: int
    body: bytes

    @property
    def transaction(self) -> str:
        return str(json.loads(self.body)["data"]["id"])

    @property
    def delay(self) -> float:
        return self.at - datetime.fromisoformat(json.loads(self.body)["created_at"]).timestamp()


@dataclass
class Listener:
    """A receiver. `hearing` off: connections are taken, not read. `answering` off: read, not answered."""

    url: str = ""
    arrivals: list[Arrival] = field(default_factory=list)
    hearing: threading.Event = field(default_factory=threading.Event)
    answering: threading.Event = field(default_factory=threading.Event)
    unheard: int = 0
    unanswered: list[Arrival] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hear_all()

    def hear_all(self) -> None:
        self.unheard = 0
        self.unanswered = []
        self.hearing.set()
        self.answering.set()

    def deaf_until_told(self) -> None:
        self.unheard = 0
        self.hearing.clear()

    def silent_until_told(self) -> None:
        self.unanswered = []
        self.answering.clear()

    def by_event(self) -> dict[str, list[Arrival]]:
        found = defaultdict(list)
        for arrival in list(self.arrivals):
            found[arrival.event_id].append(arrival)
        return found

    def wait_for(self, transactions: set[str]) -> None:
        """Wait until their events have arrived."""

        def has_arrived() -> bool:
            return transactions <= {arrival.transaction for arrival in list(self.arrivals)}

        wait_until(has_arrived, what=f"the events of {len(transactions)} transactions")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, *_: object) -> None:
        """A peer that was killed is no news here."""


@contextmanager
def listening() -> Iterator[Listener]:
    listener = Listener()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            if not listener.hearing.is_set():
                listener.unheard += 1
                self.close_connection = True  # what was in it is never looked at
                listener.hearing.wait(10)
                return
            body = self.rfile.read(int(self.headers["Content-Length"]))
            number = int(self.headers["X-Service-Attempt"])
            arrival = Arrival(time.time(), self.headers["X-Service-Idempotency-Key"], number, body)
            listener.arrivals.append(arrival)
            if not listener.answering.is_set():
                listener.unanswered.append(arrival)
                listener.answering.wait(20)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Stay quiet."""

    server = Server(("127.0.0.1", 0), Handler)
    listener.url = f"http://127.0.0.1:{server.server_port}/hooks"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield listener
    finally:
        listener.hear_all()
        server.shutdown()
        server.server_close()


class Load:
    """Payments at a steady pace. A call that fails is made again, with the same reference, as the docs say."""

    def __init__(self, shops: list[HttpClient], *, rate: float = 30) -> None:
        self._shops = cycle(shops)
        self._rate = rate
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(32)
        self.acknowledged: dict[str, float] = {}  # by transaction: when
        self.given_up: list[str] = []

    def run(self) -> None:
        started, count = time.monotonic(), 0
        while not self._over.is_set() and count < 20_000:
            count += 1
            self._pool.submit(self._pay, next(self._shops))
            self._over.wait(max(0, started + count / self._rate - time.monotonic()))

    def _pay(self, shop: HttpClient) -> None:
        order = orders.card_payment(amount=20_000)
        end = time.monotonic() + PATIENCE
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
        self.given_up.append(order["reference"])

    def pay_now_and_then(self, *, seconds: float, pause: float) -> None:
        """Pay one at a time, with a pause after each in which everything falls asleep."""
        ends_at = time.monotonic() + seconds
        while time.monotonic() < ends_at:
            self._pay(next(self._shops))
            time.sleep(pause)

    def end(self) -> None:
        self._over.set()
        self._pool.shutdown(wait=True)


@contextmanager
def under_load(shops: list[HttpClient], *, rate: float = 30) -> Iterator[Load]:
    load = Load(shops, rate=rate)
    thread = threading.Thread(target=load.run)
    thread.start()
    try:
        wait_until(lambda: len(load.acknowledged) >= 10, what="payments")
        yield load
    finally:
        load.end()
        thread.join()
