"""A fast receiver that returns 204 for every POST: `python benchmarks/sink.py PORT`.

Requests to paths that begin with /hang never get a response. Of those to a path that begins with /slow, one at a time
gets no response. `GET /stats` returns the number of POSTs with the times of the first and last; `GET /arrivals` the
time of each by its idempotency key; `GET /reset` deletes them.
"""

import asyncio
import json
import sys
import time
from typing import cast


class Ledger:
    """Arrivals, by the wall clock."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.count = 0
        self.first_at = self.last_at = 0.0
        self.arrivals: dict[str, float] = {}

    def note(self, key: str) -> None:
        self.last_at = time.time()
        if not self.count:
            self.first_at = self.last_at
        self.count += 1
        if key:
            self.arrivals.setdefault(key, self.last_at)

    def answer(self, path: bytes) -> bytes:
        content: object = None
        if path == b"/reset":
            self.reset()
        elif path == b"/stats":
            content = {"count": self.count, "first_at": self.first_at, "last_at": self.last_at}
        else:
            content = self.arrivals
        body = json.dumps(content).encode()
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


ledger = Ledger()
hanging: set[asyncio.Protocol] = set()  # the connection of the request that is not answered


class Sink(asyncio.Protocol):
    """Parses just enough HTTP to find the end of a request with a Content-Length."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end]
            total = end + 4 + int(_header(head, b"content-length: ") or b"0")
            if len(self.buffer) < total:
                return
            self.buffer = self.buffer[total:]
            self._serve(head)

    def _serve(self, head: bytes) -> None:
        method, path, _ = head.split(b" ", 2)
        if method == b"GET":
            self.transport.write(ledger.answer(path))
        elif not path.startswith(b"/hang"):
            ledger.note(_header(head, b"idempotency-key: ").decode())
            if path.startswith(b"/slow") and not hanging:
                hanging.add(self)
            else:
                self.transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    def connection_lost(self, exc: Exception | None) -> None:
        hanging.discard(self)


def _header(head: bytes, name: bytes) -> bytes:
    at = head.lower().find(name)
    return head[at + len(name) :].split(b"\r\n", 1)[0] if at >= 0 else b""


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Sink, "127.0.0.1", int(sys.argv[1]), backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
