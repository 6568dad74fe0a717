"""A merchant's webhook receiver: a real HTTP server on a local port that stores what it receives."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.serving import serving


@dataclass
class Received:
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """Received requests, and a function that returns the response status for the number received so far."""

    url: str = ""
    answers: Callable[[int], int] = lambda _: 200
    received: list[Received] = field(default_factory=list)

    def wait_for(self, count: int, *, seconds: float = 10) -> list[Received]:
        deadline = time.monotonic() + seconds
        while len(self.received) < count and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(self.received) >= count, f"{len(self.received)} of {count} arrived"
        return self.received


@contextmanager
def running_receiver(
    answers: Callable[[int], int] = lambda _: 200, *, body: bytes = b""
) -> Iterator[Receiver]:
    receiver = Receiver(answers=answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.received.append(Received(dict(self.headers), sent))
            self.send_response(receiver.answers(len(receiver.received)))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.flush()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_port}/hooks"
    with serving(server):
        yield receiver
