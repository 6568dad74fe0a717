"""Signed HTTP calls with an overall time-out.

The time-outs of `requests` apply to each step, so a slow drip of bytes or several dead addresses could extend a call
indefinitely. Each call therefore runs in its own thread. On time-out the caller returns and shuts down the connection,
which ends the thread.
"""

import contextlib
import json
import socket
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from http import HTTPStatus
from http.cookiejar import DefaultCookiePolicy
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from kit.files import bounded_json
from payments.rails.bank_signing import (
    CLIENT_HEADER,
    SIGNATURE_HEADER,
    TIMESTAMP_HEADER,
    answer_signature,
    is_signed,
    request_signature,
)

CONNECT_TIMEOUT = 3.0  # seconds for one address
LARGEST_ANSWER = 64 * 1024  # bytes
MOST_CALLS = 32  # concurrent; more mean that the peer hangs


class NoAnswer(Exception):
    """No valid answer arrived in time. The call may still have taken effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The server to call, and our key. The repr hides the key."""

    url: str
    client_id: str
    key: str
    timeout: float  # seconds for one call, from the DNS lookup to the answer's last byte
    ca_file: str = ""

    def __repr__(self) -> str:
        return f"<Peer {self.url}>"


Document: TypeAlias = dict[str, Any]


class SignedCaller:
    """Makes calls to one peer. Thread-safe."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._path = urlsplit(peer.url).path
        self._slots = threading.Semaphore(MOST_CALLS)
        self._session = _session(peer)

    def has_room(self) -> bool:
        """Return whether another call can be made now."""
        if free := self._slots.acquire(blocking=False):
            self._slots.release()
        return free

    def call(self, method: str, path: str, document: Document | None = None) -> Document:
        """Make a signed call and return its answer.

        :raises NoAnswer: no answer arrived in time, its status isn't 200, or its signature is invalid
        """
        if not self._slots.acquire(blocking=False):
            raise NoAnswer("too many calls in progress")
        call = _Call()
        body = b"" if document is None else json.dumps(document).encode()
        threading.Thread(target=self._work, args=(call, method, path, body), daemon=True).start()
        try:
            return call.answer.result(self._peer.timeout)
        except TimeoutError:
            call.cut()
            raise NoAnswer("too late") from None

    def _work(self, call: "_Call", method: str, path: str, body: bytes) -> None:
        _current.call = call
        try:
            call.answer.set_result(self._exchange(method, path, body))
        except NoAnswer as reason:
            call.answer.set_exception(reason)
        except requests.Timeout:
            call.answer.set_exception(NoAnswer("too late"))
        except Exception as problem:  # noqa: BLE001  (every failure must reach the waiting caller)
            call.answer.set_exception(NoAnswer(type(problem).__name__))
        finally:
            self._slots.release()

    def _exchange(self, method: str, path: str, body: bytes) -> Document:
        timestamp = str(int(time.time()))
        asked = request_signature(
            self._peer.key, timestamp=timestamp, method=method, target=self._path + path, body=body
        )
        headers = {
            CLIENT_HEADER: self._peer.client_id,
            TIMESTAMP_HEADER: timestamp,
            SIGNATURE_HEADER: asked,
            "Accept-Encoding": "identity",
            **({"Content-Type": "application/json"} if body else {}),
        }
        with self._session.request(
            method,
            self._peer.url + path,
            data=body,
            headers=headers,
            timeout=(CONNECT_TIMEOUT, self._peer.timeout),
            allow_redirects=False,
            stream=True,
        ) as response:
            return self._read(response, asked=asked)

    def _read(self, response: requests.Response, *, asked: str) -> Document:
        body = b""
        while piece := response.raw.read1(8192):
            body += piece
            if len(body) > LARGEST_ANSWER:
                raise NoAnswer("too long")
        if response.status_code != HTTPStatus.OK:
            raise NoAnswer(f"status {response.status_code}")
        expected = answer_signature(self._peer.key, asked=asked, body=body)
        if not is_signed(response.headers.get(SIGNATURE_HEADER, ""), expected):
            raise NoAnswer("not signed")
        document = bounded_json.loads(body.decode())
        if not isinstance(document, dict):
            raise NoAnswer("no object")
        return document


class _Call:
    """One call: its answer and its connection."""

    def __init__(self) -> None:
        self.answer: Future[Document] = Future()
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


def _session(peer: Peer) -> requests.Session:
    """Return a session without proxies, .netrc, cookies or retries."""
    session = requests.Session()
    session.trust_env = False
    session.verify = peer.ca_file or True
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Adapter(pool_maxsize=MOST_CALLS))
    return session
