"""HTTP calls to providers, with an overall time-out.

The time-outs of `requests` apply to each step, so a slow drip of bytes or several dead addresses could extend a call
indefinitely. Each call therefore runs in its own thread. On time-out the caller returns and shuts down the connection,
which ends the thread.
"""

import contextlib
import socket
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import HTTPAdapter
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
    """Makes calls to one server. Thread-safe. Follows no redirects, and uses no proxy, .netrc or cookies."""

    def __init__(self, *, ca_file: str = "") -> None:
        self._slots = threading.Semaphore(MOST_CALLS)
        self._session = _session(ca_file)

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
        threading.Thread(target=self._work, args=(call, request, timeout), daemon=True).start()
        try:
            return call.answer.result(timeout)
        except TimeoutError:
            call.cut()
            raise NoAnswer("too late") from None

    def _work(self, call: "_Call", request: HttpRequest, timeout: float) -> None:
        _current.call = call
        try:
            call.answer.set_result(self._exchange(request, timeout))
        except NoAnswer as reason:
            call.answer.set_exception(reason)
        except requests.Timeout:
            call.answer.set_exception(NoAnswer("too late"))
        except Exception as problem:  # noqa: BLE001  (every failure must reach the waiting caller)
            # The name only: the message may have the address with its query.
            call.answer.set_exception(NoAnswer(type(problem).__name__))
        finally:
            self._slots.release()

    def _exchange(self, request: HttpRequest, timeout: float) -> HttpAnswer:
        with self._session.request(
            request.method,
            request.url,
            data=request.body,
            headers={"Accept-Encoding": "identity", **request.headers},
            timeout=(CONNECT_TIMEOUT, timeout),
            allow_redirects=False,
            stream=True,
        ) as response:
            return HttpAnswer(response.status_code, response.headers, _body(response, request.largest_answer))


def _body(response: requests.Response, largest: int) -> bytes:
    body = bytearray()
    while piece := response.raw.read1(8192):
        body += piece
        if len(body) > largest:
            raise NoAnswer("too long")
    return bytes(body)


class _Call:
    """One call: its answer and its connection."""

    def __init__(self) -> None:
        self.answer: Future[HttpAnswer] = Future()
        self.connection: HTTPConnection | None = None

    def cut(self) -> None:
        """Shut down the connection while its thread uses it."""
        sock = self.connection.sock if self.connection else None
        if sock is not None:
            with contextlib.suppress(OSError):
                # Not the TLS method, which waits for the peer's close notification.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)


_current = threading.local()  # the call of this thread


class _Registered(HTTPConnection):
    """A connection that registers itself with its call."""

    def request(self, *arguments: Any, **options: Any) -> None:
        _current.call.connection = self
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
    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}


def _session(ca_file: str) -> requests.Session:
    """Return a session without proxies, .netrc, cookies or retries."""
    session = requests.Session()
    session.trust_env = False
    session.verify = ca_file or True
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Adapter(pool_maxsize=MOST_CALLS))
    return session
