"""HTTP calls to providers, with an overall time-out.

The time-outs of `requests` apply to each step, so a slow drip of bytes or several dead addresses could extend a call
indefinitely. Here, each step on a connection takes at most what is left of its call. DNS lookups and connecting can't be
limited as a whole, so they run in another thread: if it is too late then, nothing has been sent. Connections are kept.

`requests` opens and checks the connections. Its session and adapter would merge settings, cookies and proxies into each request,
which we don't have, and take as much CPU time as sending it.
"""

import socket
import ssl
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError
from urllib3.util.ssl_ import create_urllib3_context

CONNECT_TIMEOUT = 3.0  # seconds for one address
LARGEST_ANSWER = 64 * 1024  # bytes
MOST_CALLS = 32  # concurrent; more mean that the server hangs


class NoAnswer(Exception):
    """No readable answer arrived in time. The call may still have taken effect."""


class NoRoom(NoAnswer):
    """Too many calls are in progress. This one wasn't made."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A call. The repr hides headers and body, which may have secrets."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    largest_answer: int = LARGEST_ANSWER


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer with any status, complete. Names of headers are case-insensitive."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


class HttpClient:
    """Makes calls to one server. Thread-safe. Follows no redirects, and uses no proxy, .netrc or cookies. Never retries."""

    def __init__(self, *, ca_file: str = "") -> None:
        self._slots = threading.Semaphore(MOST_CALLS)
        self._connections = _Connections(ca_file)

    def has_room(self) -> bool:
        """Return whether another call can be made now."""
        if free := self._slots.acquire(blocking=False):
            self._slots.release()
        return free

    def call(self, request: HttpRequest, *, timeout: float) -> HttpAnswer:
        """Make a call, within `timeout` seconds from the DNS lookup to the answer's last byte.

        :raises NoAnswer: no answer arrived in time, or it is too long
        """
        if not self._slots.acquire(blocking=False):
            raise NoRoom("too many calls in progress")
        _call.ends_at = time.monotonic() + timeout
        try:
            return self._exchange(request, timeout)
        except NoAnswer:
            raise
        except (urllib3.exceptions.TimeoutError, TimeoutError):
            reason = "too late"
        except Exception as problem:  # noqa: BLE001  (every failure is no answer)
            # The name only: the message may have the address with its query.
            reason = type(problem).__name__
        finally:
            self._slots.release()
        raise NoAnswer(reason)  # outside the handlers, which would attach the problem with its request

    def _exchange(self, request: HttpRequest, timeout: float) -> HttpAnswer:
        server, target = _parts(request.url)
        response = self._connections.to(server).urlopen(
            request.method,
            target,
            body=request.body or None,
            headers={"Accept-Encoding": "identity", **request.headers},
            timeout=urllib3.Timeout(connect=CONNECT_TIMEOUT, read=timeout),
            retries=False,
            redirect=False,
            preload_content=False,
            decode_content=False,
        )
        try:
            return HttpAnswer(response.status, response.headers, _body(response, request.largest_answer))
        finally:
            response.close()  # the connection, too, unless the answer has been read to its end
            response.release_conn()


def _parts(url: str) -> tuple[str, str]:
    """Return the address of a server, and what it is asked for there.

    >>> _parts("https://api.example.com:8443/payments?reference=A"), _parts("https://api.example.com")
    (('https://api.example.com:8443', '/payments?reference=A'), ('https://api.example.com', '/'))
    """
    scheme, name, path, query, _ = urlsplit(url)
    return f"{scheme}://{name}", f"{path or '/'}{'?' if query else ''}{query}"


def _body(response: urllib3.BaseHTTPResponse, largest: int) -> bytes:
    body = bytearray()
    while piece := response.read1(8192):
        body += piece
        if len(body) > largest:
            raise NoAnswer("too long")
    return bytes(body)


_call = threading.local()  # of this thread: when it ends


def _time_left() -> float:
    """Return the seconds that are left for this thread's call.

    :raises TimeoutError: none
    """
    left: float = _call.ends_at - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class _EndsWithCall(socket.socket):
    """A socket whose every step ends when the call of its thread does."""

    def sendall(self, *arguments: Any) -> None:
        self.settimeout(_time_left())
        super().sendall(*arguments)

    def recv_into(self, *arguments: Any) -> int:
        self.settimeout(_time_left())
        return super().recv_into(*arguments)


class _TlsSocket(_EndsWithCall, ssl.SSLSocket):
    def send(self, *arguments: Any) -> int:
        """Send a part: unlike a plain socket's, `sendall` here takes its time-out for each."""
        self.settimeout(_time_left())
        return super().send(*arguments)


class _Connection(HTTPConnection):
    """A connection that is opened in another thread, so that its call can end meanwhile. It sends a request in one piece.

    `http.client` sends the body after the head: a packet or TLS record more, for which the server wakes up once more.
    """

    _held: list[bytes] | None = None  # of a request that isn't complete

    def request(self, *arguments: Any, **options: Any) -> None:
        self._held = []
        super().request(*arguments, **options)
        whole, self._held = b"".join(self._held), None
        self.send(whole)

    def send(self, data: Any) -> None:
        if self._held is None:
            super().send(data)
        else:
            self._held.append(data)

    def connect(self) -> None:
        thread = ThreadPoolExecutor(1, "http-connect")
        opened = thread.submit(super().connect)
        thread.shutdown(wait=False)
        try:
            opened.result(_time_left())
        except TimeoutError:
            opened.add_done_callback(lambda _: self.close())
            raise ConnectTimeoutError(self, "too late") from None


class _PlainConnection(_Connection):
    def connect(self) -> None:
        super().connect()
        self.sock = _EndsWithCall(fileno=self.sock.detach())


class _TlsConnection(_Connection, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


class _Connections(HTTPAdapter):
    """The kept connections to each server. `requests` configures them and has the authorities that certificates are checked by."""

    def __init__(self, ca_file: str) -> None:
        super().__init__(pool_maxsize=MOST_CALLS)
        self._verify: str | bool = ca_file or True
        self._pools: dict[str, HTTPConnectionPool] = {}

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        context = create_urllib3_context()
        context.sslsocket_class = _TlsSocket
        super().init_poolmanager(*arguments, **options, ssl_context=context)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}

    def to(self, server: str) -> HTTPConnectionPool:
        """Return the connections to the server with this address."""
        found = self._pools.get(server)
        if found is None:
            request = requests.Request("GET", server).prepare()
            found = cast("HTTPConnectionPool", self.get_connection_with_tls_context(request, self._verify))
            self.cert_verify(found, server, self._verify, None)  # type: ignore[no-untyped-call]
            self._pools[server] = found
        return found
