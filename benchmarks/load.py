"""A closed loop of requests over a few connections, from one thread, with minimal overhead.

Requests are prepared as bytes in advance, so that signing isn't measured.
"""

import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast


@dataclass(frozen=True)
class Measured:
    """The result of a round of requests. Latencies are in milliseconds, sorted."""

    requests: int
    seconds: float
    latencies: list[float]
    statuses: dict[int, int]

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    def percentile(self, share: float) -> float:
        return self.latencies[min(int(len(self.latencies) * share), len(self.latencies) - 1)]


def http_request(method: str, target: str, body: bytes = b"", headers: dict[str, str] | None = None) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def drive(port: int, requests: Sequence[bytes], *, connections: int = 16) -> Measured:
    """Send the requests. Each connection sends the next one as soon as it has received a response."""
    waiting = iter(requests)
    selector = selectors.DefaultSelector()
    latencies: list[float] = []
    statuses: dict[int, int] = {}
    buffers: dict[socket.socket, bytearray] = {}
    sent_at: dict[socket.socket, float] = {}

    def send_next(connection: socket.socket) -> bool:
        request = next(waiting, None)
        if request is None:
            selector.unregister(connection)
            connection.close()
            return False
        buffers[connection] = bytearray()
        sent_at[connection] = time.perf_counter()
        connection.sendall(request)
        return True

    started = time.perf_counter()
    open_connections = 0
    for _ in range(connections):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(connection, selectors.EVENT_READ)
        open_connections += send_next(connection)
    while open_connections:
        for key, _ in selector.select():
            connection = cast("socket.socket", key.fileobj)
            chunk = connection.recv(65536)
            if not chunk:
                raise ConnectionError("The server closed a connection.")
            buffer = buffers[connection]
            buffer += chunk
            if not _is_complete(buffer):
                continue
            latencies.append((time.perf_counter() - sent_at[connection]) * 1000)
            status = int(buffer[9:12])
            statuses[status] = statuses.get(status, 0) + 1
            open_connections -= not send_next(connection)
    seconds = time.perf_counter() - started
    latencies.sort()
    return Measured(len(latencies), seconds, latencies, statuses)


@contextmanager
def beside(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Do other work in a thread of this process, until the event that it is given is set."""
    is_over = threading.Event()
    thread = threading.Thread(target=work, args=[is_over])
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _is_complete(buffer: bytearray) -> bool:
    head = buffer.find(b"\r\n\r\n")
    if head < 0:
        return False
    at = buffer.lower().find(b"\r\ncontent-length:", 0, head)
    if at < 0:  # chunked
        return buffer.endswith(b"\r\n0\r\n\r\n")
    return len(buffer) >= head + 4 + int(buffer[at + 17 : buffer.find(b"\r\n", at + 2)])
