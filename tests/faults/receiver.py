"""A receiver of webhooks that can stop reading requests, or stop responding to them."""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.faults.processes import wait_until
from tests.serving import serving


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
class Receiver:
    """A receiver. Without `reading`, it accepts connections but reads nothing; without `answering`, it
    reads requests but does not respond.
    """

    url: str = ""
    arrivals: list[Arrival] = field(default_factory=list)
    reading: threading.Event = field(default_factory=threading.Event)
    answering: threading.Event = field(default_factory=threading.Event)
    unread: int = 0
    unanswered: list[Arrival] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.resume()

    def resume(self) -> None:
        self.unread = 0
        self.unanswered = []
        self.reading.set()
        self.answering.set()

    def stop_reading(self) -> None:
        self.unread = 0
        self.reading.clear()

    def stop_responding(self) -> None:
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
        """Ignore connections of killed processes."""


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            if not receiver.reading.is_set():
                receiver.unread += 1
                self.close_connection = True  # discard the request
                receiver.reading.wait(10)
                return
            body = self.rfile.read(int(self.headers["Content-Length"]))
            number = int(self.headers["X-Service-Attempt"])
            arrival = Arrival(time.time(), self.headers["X-Service-Idempotency-Key"], number, body)
            receiver.arrivals.append(arrival)
            if not receiver.answering.is_set():
                receiver.unanswered.append(arrival)
                receiver.answering.wait(20)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    server = Server(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}/hooks"
    with serving(server):
        try:
            yield receiver
        finally:
            receiver.resume()
