"""What simulators over HTTP have in common: a server on localhost, answers as bytes, and their own calls."""

import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from payments.simulators.fault_injection import Fault, FaultKind

HANGING = 3600.0  # seconds that the connection of a withheld answer stays open
# Faults after which the connection ends.
ENDING = {FaultKind.SWALLOW, FaultKind.LOSE, FaultKind.CUT, FaultKind.LOSE_AND_CUT, FaultKind.HALF}


class SimulatorServer(ThreadingHTTPServer):
    """A server on localhost. `is_over` ends hanging calls and what `repeat` has started."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, conversation: type[BaseHTTPRequestHandler], *, port: int) -> None:
        super().__init__(("127.0.0.1", port), conversation)
        self.port: int = self.server_address[1]
        self.is_over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def repeat(self, work: Callable[[], object], *, every: float) -> None:
        """Call a function every so many seconds, in a thread of its own."""
        threading.Thread(target=self._repeat, args=(work, every), daemon=True).start()

    def _repeat(self, work: Callable[[], object], every: float) -> None:
        while not self.is_over.wait(every):
            work()

    def stop(self) -> None:
        self.is_over.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnecting callers."""


class Conversation(BaseHTTPRequestHandler):
    """The calls of one connection."""

    protocol_version = "HTTP/1.1"
    server: Any  # a `SimulatorServer`

    def log_message(self, *arguments: Any) -> None:
        """Log nothing: bodies may hold card numbers, and the books record every call."""

    def read_body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send_under(self, fault: Fault, whole: bytes) -> None:
        """Send an answer, or what a fault of the connection leaves of it."""
        kind, wait = fault.kind, self.server.is_over.wait
        if kind is FaultKind.DELAY:
            wait(fault.seconds)
        if kind in {FaultKind.SWALLOW, FaultKind.LOSE}:
            wait(HANGING)
        self.close_connection = self.close_connection or kind in ENDING
        if kind is FaultKind.DRIP:
            self._drip(whole, fault.seconds)
        else:
            self.wfile.write(_left_of(whole, kind))

    def _drip(self, whole: bytes, pause: float) -> None:
        """Send an answer byte by byte, with a pause of some seconds before each."""
        for byte in whole:
            if self.server.is_over.wait(pause):
                return
            self.wfile.write(bytes([byte]))


def _left_of(whole: bytes, kind: FaultKind) -> bytes:
    """Return what arrives of an answer: all, nothing, its first half or two of it."""
    if kind in ENDING - {FaultKind.HALF}:
        return b""
    if kind is FaultKind.HALF:
        body = whole.partition(b"\r\n\r\n")[2]
        return whole[: len(whole) - len(body) // 2 - 1]
    return whole * 2 if kind is FaultKind.TWICE else whole


def written(status: int, headers: Mapping[str, str], body: bytes) -> bytes:
    r"""Return an answer as HTTP sends it.

    >>> written(200, {"Content-Type": "text/plain"}, b"Hi")
    b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nHi'
    """
    lines = [
        f"HTTP/1.1 {int(status)} {HTTPStatus(status).phrase}",
        *(f"{name}: {value}" for name, value in headers.items()),
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def post(url: str, headers: dict[str, str], body: bytes, *, timeout: float) -> tuple[int, bytes]:
    """Send a notification. Return the status and the body of its answer.

    :raises OSError: there is no answer
    :raises HTTPException: the answer is not HTTP
    """
    parts = urlsplit(url)
    connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = connect(parts.netloc, timeout=timeout)
    try:
        target = urlunsplit(("", "", parts.path or "/", parts.query, ""))
        connection.request("POST", target, body, headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def status_of(url: str, headers: dict[str, str], body: bytes, *, timeout: float) -> int:
    """Send a notification as `post` does. Return the status of its answer, 0 without one."""
    try:
        return post(url, headers, body, timeout=timeout)[0]
    except (OSError, HTTPException):
        return 0
