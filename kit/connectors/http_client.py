"""HTTP calls to providers, with an overall time-out.

The time-outs of `requests` apply to each step, so a slow drip of bytes or several dead addresses could extend a call
indefinitely. Each call therefore runs in another thread. On time-out the caller returns and shuts down the connection,
which ends the call. Threads are kept for further calls, as connections are.

Requests go to the adapter of `requests` as they are. Its session would merge settings, cookies and proxies into each, which
we don't have, and takes as much CPU time as sending it.
"""

import contextlib
import socket
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

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
        self._threads = ThreadPoolExecutor(MOST_CALLS, "http-call")
        self._adapter, self._ca_file = _Adapter(pool_maxsize=MOST_CALLS), ca_file

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
        call = _Call()
        answer = self._threads.submit(self._work, call, request, timeout)
        try:
            return answer.result(timeout)
        except TimeoutError:
            call.cut()
            raise NoAnswer("too late") from None

    def _work(self, call: "_Call", request: HttpRequest, timeout: float) -> HttpAnswer:
        _current.call = call
        try:
            return self._exchange(request, timeout)
        except NoAnswer:
            raise
        except requests.Timeout:
            reason = "too late"
        except Exception as problem:  # noqa: BLE001  (every failure is no answer)
            # The name only: the message may have the address with its query.
            reason = type(problem).__name__
        finally:
            self._slots.release()
        raise NoAnswer(reason)  # outside the handlers, which would attach the problem with its request

    def _exchange(self, request: HttpRequest, timeout: float) -> HttpAnswer:
        sent, step = _prepared(request), (CONNECT_TIMEOUT, timeout)
        with self._adapter.send(sent, stream=True, timeout=step, verify=self._ca_file or True) as response:
            return HttpAnswer(response.status_code, response.headers, _body(response, request.largest_answer))


def _prepared(request: HttpRequest) -> requests.PreparedRequest:
    prepared = requests.PreparedRequest()
    prepared.method, prepared.url = request.method, request.url
    prepared.headers = CaseInsensitiveDict({"Accept-Encoding": "identity", **request.headers})
    if request.body:
        prepared.body = request.body
        prepared.headers["Content-Length"] = str(len(request.body))
    return prepared


def _body(response: requests.Response, largest: int) -> bytes:
    body = bytearray()
    while piece := response.raw.read1(8192):
        body += piece
        if len(body) > largest:
            raise NoAnswer("too long")
    return bytes(body)


class _Call:
    """The connection of a call."""

    def __init__(self) -> None:
        self._connection: HTTPConnection | None = None
        self._is_cut = False

    def use(self, connection: HTTPConnection) -> None:
        """Register the connection before anything is sent through it.

        :raises NoAnswer: the caller has given up. A request that is sent later could take effect unnoticed.
        """
        self._connection = connection
        if self._is_cut:
            raise NoAnswer("too late")

    def cut(self) -> None:
        """Shut down the connection while its thread uses it, or keep it from being used."""
        self._is_cut = True
        sock = self._connection.sock if self._connection else None
        if sock is not None:
            with contextlib.suppress(OSError):
                # Not the TLS method, which waits for the peer's close notification.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)


_current = threading.local()  # the call of this thread


class _Registered(HTTPConnection):
    """A connection that registers itself with its call."""

    def connect(self) -> None:
        super().connect()
        _current.call.use(self)

    def request(self, *arguments: Any, **options: Any) -> None:
        _current.call.use(self)
        super().request(*arguments, **options)


class _RegisteredConnection(_Registered, HTTPConnection):
    pass


class _RegisteredTlsConnection(_Registered, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _RegisteredConnection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _RegisteredTlsConnection


class _Adapter(HTTPAdapter):
    """Answers with what `HttpAnswer` needs. `requests` would read cookies, encoding and history from each."""

    def build_response(self, req: requests.PreparedRequest, resp: Any) -> requests.Response:
        response = requests.Response()
        response.status_code, response.headers, response.raw = resp.status, resp.headers, resp
        return response

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
