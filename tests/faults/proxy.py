"""A TCP proxy that delays, cuts, and drops responses, so that the outcome is unknown to the caller."""

import contextlib
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

PIECE = 65_536
LENGTH = re.compile(rb"(?i)content-length: ([0-9]+)")
WRITES = re.compile(rb"\b(INSERT INTO|UPDATE|DELETE FROM)\s")


class ConnectionProtocol(Protocol):
    """The protocol of one proxied connection."""

    def asked(self, piece: bytes) -> None:
        """Read data that is sent to the server."""

    def answered(self, piece: bytes) -> tuple[bytes, bool]:
        """Return the data to forward to the client now, and whether it completes the response to a write."""


class Http:
    """HTTP: every response counts as one to a write. It is held back until its Content-Length is complete."""

    def __init__(self) -> None:
        self._answered = b""

    def asked(self, piece: bytes) -> None:
        """Ignore requests."""

    def answered(self, piece: bytes) -> tuple[bytes, bool]:
        self._answered += piece
        head, _, body = self._answered.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if length is None or len(body) < int(length[1]):
            return b"", False
        whole, self._answered = self._answered, b""
        return whole, True


class PostgreSQLWire:
    """PostgreSQL: detects the response to COMMIT, or to a single statement that writes outside a transaction."""

    def __init__(self) -> None:
        self._has_begun = False
        self._asked = b""
        self._answered = b""
        self._prepared: dict[bytes, bytes] = {}  # texts by name
        self._statement = b""
        self._state = b"I"

    def asked(self, piece: bytes) -> None:
        self._asked += piece
        if not self._has_begun and len(self._asked) >= 4:  # the first message has a length and no kind
            self._asked = self._asked[struct.unpack_from("!I", self._asked)[0] :]
            self._has_begun = True
        for kind, content in self._messages("_asked"):
            if kind == b"Q":
                self._statement = content
            elif kind == b"P":
                name, text, *_ = content.split(b"\0")
                self._prepared[name] = text
            elif kind == b"B":
                self._statement = self._prepared[content.split(b"\0")[1]]

    def answered(self, piece: bytes) -> tuple[bytes, bool]:
        """Hold a response back until it is complete."""
        before, held = self._state, self._answered + piece
        self._answered += piece
        is_over = False
        for kind, content in self._messages("_answered"):
            is_over = kind == b"Z"
            if is_over:
                self._state = content[:1]
        if not is_over:
            self._answered = held
            return b"", False
        is_alone = before == self._state == b"I" and bool(WRITES.search(self._statement))
        return held, self._state == b"I" and (is_alone or self._statement.startswith(b"COMMIT"))

    def _messages(self, name: str) -> Iterator[tuple[bytes, bytes]]:
        """Remove the complete messages from a buffer."""
        while len(rest := getattr(self, name)) >= 5:
            end = 1 + struct.unpack_from("!I", rest, 1)[0]
            if len(rest) < end:
                return
            setattr(self, name, rest[end:])
            yield rest[:1], rest[5:end]


class Proxy:
    """A proxy of a local server that can drop a response together with its connection."""

    def __init__(self, target: int, protocol: Callable[[], ConnectionProtocol]) -> None:
        self.latency = 0.0  # seconds before each piece from the server is forwarded
        self.dropped: list[bytes] = []
        self._target = target
        self._protocol = protocol
        self._to_forward: int | None = None  # responses to forward before one is dropped; None: all
        self._lock = threading.Lock()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @contextmanager
    def dropping_a_response(self, *, after: int = 0) -> Iterator[None]:
        """Drop one response to a write, after `after` that are forwarded."""
        self.dropped = []
        self._to_forward = after
        try:
            yield
        finally:
            self._to_forward = None

    def cut(self) -> None:
        """Reset every connection."""
        for pair in list(self._pairs):
            reset(*pair)

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._target))
                except OSError:
                    client.close()
                    continue
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._pairs.add((client, server))
                protocol = self._protocol()
                for pump in (self._pump_requests, self._pump_responses):
                    threading.Thread(
                        target=self._until_cut, args=(pump, client, server, protocol), daemon=True
                    ).start()

    def _until_cut(
        self,
        pump: Callable[[socket.socket, socket.socket, ConnectionProtocol], None],
        client: socket.socket,
        server: socket.socket,
        protocol: ConnectionProtocol,
    ) -> None:
        with contextlib.suppress(OSError):
            pump(client, server, protocol)
        reset(client, server)
        self._pairs.discard((client, server))

    def _pump_requests(
        self, client: socket.socket, server: socket.socket, protocol: ConnectionProtocol
    ) -> None:
        while piece := client.recv(PIECE):
            protocol.asked(piece)
            server.sendall(piece)

    def _pump_responses(
        self, client: socket.socket, server: socket.socket, protocol: ConnectionProtocol
    ) -> None:
        while piece := server.recv(PIECE):
            answer, is_done = protocol.answered(piece)
            if is_done and self._is_to_be_dropped():
                self.dropped.append(answer)
                return
            if self.latency:
                time.sleep(self.latency)
            client.sendall(answer)

    def _is_to_be_dropped(self) -> bool:
        with self._lock:
            if self._to_forward is None:
                return False
            self._to_forward -= 1
            if self._to_forward < 0:
                self._to_forward = None
                return True
            return False


def reset(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@contextmanager
def proxied(target: int, protocol: Callable[[], ConnectionProtocol]) -> Iterator[Proxy]:
    proxy = Proxy(target, protocol)
    try:
        yield proxy
    finally:
        proxy.close()
