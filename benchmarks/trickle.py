"""Slow clients, as a separate process: `python -m benchmarks.trickle KIND COUNT PORT [CERTIFICATE]`.

Each sends the beginning of a request, then a byte a second, and connects again when it is disconnected. Over TLS with
a certificate; stalled handshakes (`tls`) never get that far. SIGTERM ends it, and it prints the results.
"""

import asyncio
import json
import signal
import socket
import ssl
import sys
from contextlib import suppress

START = 1.0  # seconds over which the first connections are spread
DOWNLOAD = 10.0  # seconds that a response is left unread, and between the starts of downloads
BETWEEN = 1.0  # seconds between two bytes
LARGE_FILE = "/static/rest_framework/css/bootstrap.min.css.map"  # 0.5 MB, public
POST = b"POST /api/payments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BEGINNINGS = {
    "headers": POST + b"X-Slow: ",
    "body": POST + b"Content-Length: 60000\r\n\r\n{",
    "tls": b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03",  # of a ClientHello of 16 KB
    "reading": f"GET {LARGE_FILE} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(),
}


class SlowClients:
    """The slow clients, and the number of connected ones."""

    def __init__(self, kind: str, port: int, context: ssl.SSLContext | None) -> None:
        self._kind, self._port, self._context = kind, port, context
        self.held = self.connections = 0

    async def client(self, delay: float) -> None:
        await asyncio.sleep(delay)
        while True:
            with suppress(OSError):
                await self._connection()
            await asyncio.sleep(0.1)

    async def _connection(self) -> None:
        raw = await asyncio.to_thread(self._connect)
        with raw:
            self.connections += 1
            self.held += 1
            try:
                await (self._download(raw) if self._kind == "reading" else self._trickle(raw))
            finally:
                self.held -= 1

    def _connect(self) -> socket.socket:
        raw = socket.socket()
        # As on Ethernet: with the segments of the loopback interface the kernel would buffer whole files.
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1460)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", self._port))
        return raw

    async def _download(self, raw: socket.socket) -> None:
        """Request a large response, and read none of it."""

        def ask() -> socket.socket:
            wrap = self._context.wrap_socket if self._context else None
            asking = wrap(raw, server_hostname="localhost") if wrap else raw
            asking.sendall(BEGINNINGS["reading"])
            return asking

        with await asyncio.to_thread(ask):
            await asyncio.sleep(DOWNLOAD)

    async def _trickle(self, raw: socket.socket) -> None:
        """Send a byte at a time, until the server answers or closes."""
        name = "localhost" if self._context else None
        reader, writer = await asyncio.open_connection(sock=raw, ssl=self._context, server_hostname=name)
        try:
            writer.write(BEGINNINGS[self._kind])
            while True:
                try:
                    await asyncio.wait_for(reader.read(1), BETWEEN)
                except TimeoutError:
                    writer.write(b"a")
                else:
                    return
        finally:
            writer.transport.abort()


async def main() -> None:
    kind, count, port, *certificate = sys.argv[1:]
    context = ssl.create_default_context(cafile=certificate[0]) if certificate else None
    clients = SlowClients(kind, int(port), context)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    apart = (DOWNLOAD if kind == "reading" else START) / int(count)
    tasks = [asyncio.create_task(clients.client(number * apart)) for number in range(int(count))]
    await ended.wait()
    print(json.dumps({"held": clients.held, "connections": clients.connections}), flush=True)
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(main())
