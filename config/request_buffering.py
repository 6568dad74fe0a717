"""Receive a whole request before a thread serves it, so that slow clients occupy no threads.

gunicorn's threaded worker hands a connection to a thread with its first byte; eight half-sent requests then occupy
eight threads. Here the event loop of the worker does the TLS handshake, receives headers and body, and waits for the
client to close; a thread only runs the application. Decision 0079.
"""

import contextlib
import re
import selectors
import socket
import ssl
import struct
import time
from concurrent.futures import Future
from enum import Enum, auto
from functools import partial
from typing import Any

from gunicorn.http import get_parser
from gunicorn.http.errors import LimitRequestHeaders
from gunicorn.sock import ssl_wrap_socket
from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, TConn, ThreadWorker

HEADERS_WITHIN = 10.0  # seconds for the TLS handshake and the headers
BODY_WITHIN = 20.0  # more seconds for the body
LINGER = 2.0  # seconds in which the client reads the rest of its answer, before a reset could destroy it
SEND_TIMEOUT = 30  # seconds without progress after which an answer is abandoned
HEADERS_BUFFERED = 64 * 1024  # bytes, with the request line
BODY_BUFFERED = 64 * 1024  # bytes: MAX_BODY_BYTES. The application refuses what is longer without reading it.
CHUNK = 64 * 1024  # bytes for one recv

_CONTENT_LENGTH = re.compile(rb"^content-length:[ \t]*([^\r\n]*?)[ \t]*\r$", re.IGNORECASE | re.MULTILINE)
_TRANSFER_ENCODING = re.compile(rb"^transfer-encoding:", re.IGNORECASE | re.MULTILINE)
_EXPECT = re.compile(rb"^expect:[ \t]*100-continue[ \t]*\r\n", re.IGNORECASE | re.MULTILINE)


class Progress(Enum):
    """What has become of a request that is being received."""

    INCOMPLETE = auto()
    READY = auto()  # a thread can serve it without waiting for the client
    GONE = auto()  # the client closed the connection, or broke TLS
    TOO_LARGE = auto()  # its headers have no end


class BufferedConnection(TConn):
    """A connection, and what has been received of its next request."""

    sock: Any
    parser: Any
    initialized: bool

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.received = bytearray()
        self.is_whole = False  # nothing of the request's body is still to come
        self.data_ready = True  # gunicorn doesn't wait for it in a thread
        self.deadline = 0.0  # monotonic seconds
        self._size: int | None = None  # of headers and body, once the headers are there
        self._is_secured = not self.cfg.is_ssl
        send_timeout = struct.pack("ll", SEND_TIMEOUT, 0)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, send_timeout)
        if self.cfg.is_ssl:
            self.sock = ssl_wrap_socket(self.sock, self.cfg)

    def expect_request(self) -> None:
        """Begin to receive the next request."""
        self.sock.setblocking(False)
        self.is_whole, self._size = False, None
        self.deadline = time.monotonic() + HEADERS_WITHIN

    def receive(self) -> Progress:
        """Receive what the client has sent so far. Never blocks."""
        try:
            return self._receive()
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return Progress.INCOMPLETE
        except OSError:
            return Progress.GONE

    def _receive(self) -> Progress:
        if not self._is_secured:
            self.sock.do_handshake()
            self._is_secured = True
        while not self._is_ready():
            if self._size is None and len(self.received) > HEADERS_BUFFERED:
                return Progress.TOO_LARGE
            data = self.sock.recv(CHUNK)
            if not data:  # the application refuses a body that is too short
                return Progress.READY if self.received else Progress.GONE
            self.received += data
        return Progress.READY

    def _is_ready(self) -> bool:
        if self._size is None:
            end = self.received.find(b"\r\n\r\n")
            if end < 0:
                return False
            headers = bytes(self.received[: end + 2])
            body = _length_of_body(headers)
            if body is None:
                return True
            self._size = end + 4 + body
            self.deadline += BODY_WITHIN
            if len(self.received) < self._size and (expect := _EXPECT.search(headers)):
                self.sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")
                del self.received[expect.start() : expect.end()]  # or gunicorn sends it once more
                self._size -= len(expect[0])
        self.is_whole = len(self.received) >= self._size
        return self.is_whole

    def init(self) -> None:
        """Give the parser what was received. Called in the thread that serves the request."""
        if not self.initialized:
            self.initialized = True
            self.parser = get_parser(self.cfg, self.sock, self.client)
        self.parser.unreader.unread(bytes(self.received))
        self.received.clear()
        if not self.is_whole:  # whatever reads the body finds its end where the received part ends
            socket.socket.shutdown(self.sock, socket.SHUT_RD)

    def keep_surplus(self) -> bool:
        """Take back what the client has already sent of its next request; return whether there is any."""
        self.received += self.parser.unreader.take_buffered()
        return bool(self.received) or (self.cfg.is_ssl and self.sock.pending() > 0)


def _length_of_body(headers: bytes) -> int | None:
    """Return how long the body is, or None if it isn't received: it is chunked, too long, or has no valid length."""
    lengths = _CONTENT_LENGTH.findall(headers) or [b"0"]
    if (
        _TRANSFER_ENCODING.search(headers)
        or len(lengths) > 1
        or not re.fullmatch(rb"[0-9]{1,18}", lengths[0])
    ):
        return None
    length = int(lengths[0])
    return length if length <= BODY_BUFFERED else None


class BufferingWorker(ThreadWorker):
    """gunicorn's threaded worker, whose threads never wait for a client's request."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # In the order in which they began. A dict, because it removes in constant time.
        self._receiving: dict[BufferedConnection, None] = {}
        self._lingering: dict[BufferedConnection, None] = {}
        self._expiry_at = 0.0

    def accept(self, listener: Any) -> None:
        try:
            sock, client = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        try:
            conn = BufferedConnection(self.cfg, sock, client, listener.getsockname())
        except OSError:  # the client has gone
            sock.close()
            return
        self.nr_conns += 1
        if len(self._receiving) >= self.worker_connections // 2:
            self._close(next(iter(self._receiving)))  # the slowest one
        self._receive(conn)

    def on_client_socket_readable(self, conn: BufferedConnection, client: Any) -> None:
        """Receive the next request of a connection that was kept alive."""
        self.poller.unregister(client)
        self.keepalived_conns.remove(conn)
        self._receive(conn)

    def _receive(self, conn: BufferedConnection) -> None:
        conn.expect_request()
        self._receiving[conn] = None
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._on_request_readable, conn))
        self._on_request_readable(conn)

    def _on_request_readable(self, conn: BufferedConnection, _client: Any = None) -> None:
        progress = conn.receive()
        if progress is Progress.READY:
            self._end_reception(conn)
            self.enqueue_req(conn)
        elif progress is Progress.GONE:
            self._close(conn)
        elif progress is Progress.TOO_LARGE:
            self._end_reception(conn)
            self.handle_error(None, conn.sock, conn.client, LimitRequestHeaders("they are too large"))
            self._linger(conn)

    def _end_reception(self, conn: BufferedConnection) -> None:
        self.poller.unregister(conn.sock)
        del self._receiving[conn]

    def finish_request(self, conn: BufferedConnection, served: "Future[Any]") -> None:
        """Keep the connection of an answered request, or close it without waiting for the client."""
        keeps = not served.cancelled() and served.exception() is None and served.result()
        if not keeps:
            self._linger(conn)
        elif conn.keep_surplus():
            self._receive(conn)
        else:
            self._keep_alive(conn)

    def _keepalive_after(self, conn: BufferedConnection, keepalive: bool) -> bool:  # noqa: FBT001  (gunicorn's own)
        return conn.is_whole and super()._keepalive_after(conn, keepalive)

    def _keep_alive(self, conn: BufferedConnection) -> None:
        conn.sock.setblocking(False)
        conn.set_timeout()
        if not self.alive:
            conn.timeout = min(conn.timeout, time.monotonic() + STOP_KEEPALIVE_LINGER)
        self.keepalived_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_client_socket_readable, conn))

    def _linger(self, conn: BufferedConnection) -> None:
        """Close our side, and the connection once the client has read its answer (RFC 9112, 9.6)."""
        self._lingering[conn] = None
        try:
            socket.socket.shutdown(conn.sock, socket.SHUT_WR)
            conn.sock.setblocking(False)
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._on_rest_readable, conn))
        except (OSError, ValueError):  # the client has gone
            self._close(conn)
            return
        conn.deadline = time.monotonic() + LINGER

    def _on_rest_readable(self, conn: BufferedConnection, _client: Any) -> None:
        """Discard what the client still sends, until it closes."""
        try:
            ended = not socket.socket.recv(conn.sock, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            ended = True
        if ended:
            self._close(conn)

    def _close(self, conn: BufferedConnection) -> None:
        self._receiving.pop(conn, None)
        self._lingering.pop(conn, None)
        with contextlib.suppress(KeyError, ValueError):  # it isn't registered, or its socket is closed
            self.poller.unregister(conn.sock)
        self.nr_conns -= 1
        conn.close()

    def murder_pending(self) -> None:
        """Close connections whose request or whose end is late. gunicorn calls it after each event."""
        now = time.monotonic()
        if now < self._expiry_at:
            return
        self._expiry_at = now + 1
        for conn in [*self._receiving, *self._lingering]:
            if conn.deadline <= now:
                self._close(conn)

    def _cap_keepalive(self, deadline: float) -> None:
        """Bound what a stopping worker waits for: requests that come in are not begun."""
        super()._cap_keepalive(deadline)
        for conn in self._receiving:
            conn.deadline = min(conn.deadline, deadline)
