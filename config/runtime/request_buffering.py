"""Receive a whole request before a thread serves it, so that slow clients occupy no threads.

gunicorn's threaded worker hands a connection to a thread with its first byte; eight half-sent requests then occupy
eight threads. Here the event loop of the worker does the TLS handshake, receives headers and body, sends what the
client doesn't take at once of its response, and waits for it to close. A thread only runs the application.
Decision 0074.
"""

import contextlib
import re
import selectors
import socket
import ssl
import time
from concurrent.futures import Future
from enum import Enum, auto
from functools import cache, partial
from itertools import chain, islice
from types import SimpleNamespace
from typing import Any

from gunicorn.http import get_parser
from gunicorn.http.errors import LimitRequestHeaders
from gunicorn.sock import ssl_context
from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, TConn, ThreadWorker

from config.runtime.response_buffering import CHUNK, SEND_TIMEOUT, BufferedResponse

HEADERS_WITHIN = 10.0  # seconds for the TLS handshake and the headers
BODY_WITHIN = 20.0  # more seconds for the body
LINGER = 2.0  # seconds for the client to read the rest of its answer, before a reset could discard it
HEADERS_BUFFERED = 64 * 1024  # bytes, with the request line
BODY_BUFFERED = 64 * 1024  # bytes: MAX_BODY_BYTES. The application refuses a longer body without reading it.
RESPONSES_BUFFERED = 64 * 1024 * 1024  # bytes of all unread responses of a worker

_CONTENT_LENGTH = re.compile(rb"^content-length:[ \t]*([^\r\n]*?)[ \t]*\r$", re.IGNORECASE | re.MULTILINE)
_TRANSFER_ENCODING = re.compile(rb"^transfer-encoding:", re.IGNORECASE | re.MULTILINE)
_EXPECT = re.compile(rb"^expect:[ \t]*100-continue[ \t]*\r\n", re.IGNORECASE | re.MULTILINE)


class Progress(Enum):
    """The state of a request that is being received."""

    INCOMPLETE = auto()
    READY = auto()  # a thread can serve it without waiting for the client
    GONE = auto()  # the client closed the connection, or broke TLS
    TOO_LARGE = auto()  # the headers exceed HEADERS_BUFFERED


class BufferedConnection(TConn):
    """A connection, with the received part of its next request."""

    sock: Any
    parser: Any
    initialized: bool

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.received = bytearray()
        self.is_whole = False  # the whole body was received
        self.data_ready = True  # gunicorn doesn't wait for it in a thread
        self.deadline = 0.0  # monotonic seconds
        self._size: int | None = None  # of headers and body, once the headers are complete
        self._is_secured = not self.cfg.is_ssl
        if self.cfg.is_ssl:
            self.sock = _tls_context(self.cfg).wrap_socket(
                self.sock,
                server_side=True,
                do_handshake_on_connect=False,
                suppress_ragged_eofs=self.cfg.suppress_ragged_eofs,
            )
        self.response = BufferedResponse(self.sock)
        self.is_kept = False  # open, after the response

    def expect_request(self) -> None:
        """Start receiving the next request."""
        self.sock.setblocking(False)
        self.is_whole, self._size = False, None
        self.deadline = time.monotonic() + HEADERS_WITHIN

    def receive(self) -> Progress:
        """Receive the data that the client has sent so far. Never blocks."""
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
                del self.received[expect.start() : expect.end()]  # otherwise gunicorn sends it again
                self._size -= len(expect[0])
        self.is_whole = len(self.received) >= self._size
        return self.is_whole

    def init(self) -> None:
        """Pass the received data to the parser. Called in the thread that serves the request."""
        self.sock.setblocking(False)
        if not self.initialized:
            self.initialized = True
            self.parser = get_parser(self.cfg, self.sock, self.client)
        self.parser.unreader.unread(bytes(self.received))
        self.received.clear()
        if not self.is_whole:  # the body ends where the received part ends
            socket.socket.shutdown(self.sock, socket.SHUT_RD)

    def keep_surplus(self) -> bool:
        """Take back data of the next request that was already received. Return whether there is any."""
        self.received += self.parser.unreader.take_buffered()
        return bool(self.received) or (self.cfg.is_ssl and self.sock.pending() > 0)


@cache
def _tls_context(cfg: Any) -> ssl.SSLContext:
    """Return the worker's TLS context. Reading the certificate takes longer than a handshake."""
    context: ssl.SSLContext = ssl_context(cfg)
    return context


def _length_of_body(headers: bytes) -> int | None:
    """Return the length of the body, or None if it is chunked, too long or has no valid length: it isn't received."""
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
    """gunicorn's threaded worker, whose threads wait neither for requests nor for clients to read responses."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # In order of their start. A dict, because removal takes constant time.
        self._receiving: dict[BufferedConnection, None] = {}
        self._sending: dict[BufferedConnection, None] = {}
        self._lingering: dict[BufferedConnection, None] = {}
        self._expiry_at = 0.0

    def accept(self, listener: Any) -> bool:
        """Accept a connection and begin to receive its request. Return False if none is waiting."""
        try:
            sock, client = listener.accept()
        except BlockingIOError:
            return False
        except ConnectionAbortedError:
            return True
        try:
            conn = BufferedConnection(self.cfg, sock, client, listener.getsockname())
        except OSError:  # the client disconnected
            sock.close()
            return True
        self.nr_conns += 1
        self._receive(conn)
        return True

    def on_client_socket_readable(self, conn: BufferedConnection, client: Any) -> None:
        """Receive the next request of a connection that was kept alive."""
        self.poller.unregister(client)
        self.keepalived_conns.remove(conn)
        self._receive(conn)

    def _receive(self, conn: BufferedConnection) -> None:
        conn.expect_request()
        progress = conn.receive()
        if progress is Progress.READY:  # most are received at once, and need no registration
            self.enqueue_req(conn)
            return
        self._receiving[conn] = None
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._on_request_readable, conn))
        self._continue(conn, progress)

    def _on_request_readable(self, conn: BufferedConnection, _client: Any) -> None:
        self._continue(conn, conn.receive())

    def _continue(self, conn: BufferedConnection, progress: Progress) -> None:
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

    def handle_request(self, req: Any, conn: BufferedConnection) -> Any:
        """Run the application, which writes its response to a buffer."""
        buffered = SimpleNamespace(sock=conn.response, client=conn.client, server=conn.server)
        try:
            return super().handle_request(req, buffered)
        finally:
            conn.response.end()

    def finish_request(self, conn: BufferedConnection, served: "Future[Any]") -> None:
        """Send the rest of the response, then keep the connection or close it. Never blocks."""
        conn.is_kept = not served.cancelled() and served.exception() is None and bool(served.result())
        if not conn.response.unsent:
            self._end_request(conn)
            return
        conn.deadline = time.monotonic() + SEND_TIMEOUT
        self._sending[conn] = None
        self.poller.register(conn.sock, selectors.EVENT_WRITE, partial(self._on_response_writable, conn))

    def _on_response_writable(self, conn: BufferedConnection, _client: Any) -> None:
        try:
            has_sent = conn.response.send_rest()
        except OSError:  # the client disconnected
            self._close(conn)
            return
        if has_sent:
            conn.deadline = time.monotonic() + SEND_TIMEOUT
        if not conn.response.unsent:
            self.poller.unregister(conn.sock)
            del self._sending[conn]
            self._end_request(conn)

    def _end_request(self, conn: BufferedConnection) -> None:
        if not conn.is_kept:
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
        except (OSError, ValueError):  # the client disconnected
            self._close(conn)
            return
        conn.deadline = time.monotonic() + LINGER

    def _on_rest_readable(self, conn: BufferedConnection, _client: Any) -> None:
        """Discard further data from the client, until it closes the connection."""
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
        self._sending.pop(conn, None)
        self._lingering.pop(conn, None)
        with contextlib.suppress(ValueError):  # not idle
            self.keepalived_conns.remove(conn)
        with contextlib.suppress(KeyError, ValueError):  # not registered, or the socket is closed
            self.poller.unregister(conn.sock)
        self.nr_conns -= 1
        conn.close()

    def murder_pending(self) -> None:
        """Close connections past their deadline, and those in excess. gunicorn calls this after the events."""
        self._close_excess()
        now = time.monotonic()
        if now < self._expiry_at:
            return
        self._expiry_at = now + 1
        for conn in [*self._receiving, *self._sending, *self._lingering]:
            if conn.deadline <= now:
                self._close(conn)

    def _close_excess(self) -> None:
        """Close the oldest of the connections that wait for their clients, where there are too many.

        Not while events are handled: there could be one for a connection that was just closed.
        """
        while len(self._receiving) > self.worker_connections // 2:
            self._close(next(iter(self._receiving)))
        while sum(len(conn.response.unsent) for conn in self._sending) > RESPONSES_BUFFERED:
            self._close(next(iter(self._sending)))
        idle = chain(self._lingering, self.keepalived_conns, self._sending)
        for conn in list(islice(idle, max(self.nr_conns + 1 - self.worker_connections, 0))):
            self._close(conn)

    def _cap_keepalive(self, deadline: float) -> None:
        """Limit how long a stopping worker waits for connections. It starts no new requests."""
        super()._cap_keepalive(deadline)
        for conn in self._receiving:
            conn.deadline = min(conn.deadline, deadline)
