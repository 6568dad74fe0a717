"""HTTP by the standard library. The target goes out byte for byte as it was signed.

`urllib3`, and so `requests`, rewrites `%3a` to `%3A`; `http.client` sends what it is given. No redirect is followed, and
no cookie, `.netrc` or proxy variable is read.
"""

from __future__ import annotations

import http.client
import os
import select
import ssl
import threading
import time
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from sluice.credentials import LOOPBACK
from sluice.errors import NotSent, OutcomeUnknown, TransportError

MAX_IDLE = 10  # connections
NOT_TLS = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"}  # OpenSSL's words for other bytes
IDLE_SECONDS = 20  # the server keeps a connection for 30
MAX_ANSWER = 32 * 1024 * 1024  # bytes


@dataclass(frozen=True)
class Request:
    """A signed request. `target` is sent exactly as it is."""

    method: str
    target: str
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class Response:
    """An answer. The names of `headers` are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes = field(repr=False)


class Transport(Protocol):
    """Sends requests. Yours may do so in any way, as long as the target is sent exactly as it is."""

    def send(self, request: Request) -> Response:
        """Return the answer.

        :raises NotSent: no byte of the request left
        :raises OutcomeUnknown: the request may have arrived
        """
        ...  # pragma: no cover


class HttpTransport:
    """HTTP to one service, over connections that are kept for the next request. May be used by several threads.

    Timeouts are in seconds: to connect, and between two reads. `proxy` is an address such as
    `http://user:password@proxy.example:3128`; TLS goes through it by a tunnel. `ca_file` has the certificates to trust,
    in place of the machine's.
    """

    def __init__(
        self,
        base_url: str,
        *,
        connect_timeout: float,
        read_timeout: float,
        insecure_http: bool = False,
        proxy: str | None = None,
        ca_file: str | None = None,
    ) -> None:
        parts = _checked(base_url)
        if parts.scheme == "http" and parts.hostname not in LOOPBACK and not insecure_http:
            raise ValueError("The base URL must be https; insecure_http=True allows http to any host.")
        self._authority, self._host, self._port = parts.netloc, parts.hostname or "", parts.port
        self._connect_timeout, self._read_timeout = connect_timeout, read_timeout
        self._proxy = _checked_proxy(proxy) if proxy else None
        self._tls = _tls_context(ca_file) if parts.scheme == "https" else None
        self._pool = Pool()

    def send(self, request: Request) -> Response:
        pool = self._own_pool()
        connection = pool.take() or self._connect()
        try:
            response = self._exchange(connection, request)
        except BaseException:
            connection.close()
            raise
        pool.keep(connection)
        return response

    def close(self) -> None:
        """Close the idle connections."""
        self._own_pool().close()

    def _own_pool(self) -> Pool:
        """Return the connections of this process: after a fork, none, because two processes must not share one."""
        pool = self._pool
        if pool.process != os.getpid():
            pool = self._pool = Pool()
        return pool

    def _exchange(self, connection: http.client.HTTPConnection, request: Request) -> Response:
        try:
            connection.putrequest(request.method, self._request_target(request), skip_accept_encoding=True)
            for name, value in (request.headers | self._forwarding()).items():
                connection.putheader(name, value)
            connection.endheaders(request.body or None)
            answer = connection.getresponse()
            body = answer.read(MAX_ANSWER + 1)
            if answer.length:  # a read with a limit does not complain about an end that comes too early
                raise http.client.IncompleteRead(body, answer.length)
        except (OSError, http.client.HTTPException) as problem:
            # Without the frames of http.client, whose variables hold the request.
            is_plain = self._tls is None and isinstance(problem, ConnectionResetError)
            hint = " If this port answers https, begin the address with https." if is_plain else ""
            text = f"The connection failed: {_words(problem)}.{hint}"
            raise OutcomeUnknown(text) from problem.with_traceback(None)
        if len(body) > MAX_ANSWER:
            raise OutcomeUnknown(f"The answer has more than {MAX_ANSWER} bytes.")
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return Response(answer.status, headers, body)

    def _request_target(self, request: Request) -> str:
        """Return the target, with the address in front if a proxy forwards it without a tunnel."""
        is_forwarded = self._proxy is not None and self._tls is None
        return f"http://{self._authority}{request.target}" if is_forwarded else request.target

    def _forwarding(self) -> dict[str, str]:
        return _proxy_headers(self._proxy) if self._proxy is not None and self._tls is None else {}

    def _connect(self) -> http.client.HTTPConnection:
        connection = self._new()
        try:
            connection.connect()
        except (OSError, http.client.HTTPException) as problem:
            connection.close()
            raise NotSent(f"{self._authority} could not be reached: {_words(problem)}.") from problem
        connection.sock.settimeout(self._read_timeout)
        return connection

    def _new(self) -> http.client.HTTPConnection:
        host, port = self._host, self._port
        if self._proxy is not None:
            host, port = self._proxy.hostname or "", self._proxy.port
        if self._tls is None:
            return http.client.HTTPConnection(host, port, timeout=self._connect_timeout)
        connection = http.client.HTTPSConnection(host, port, timeout=self._connect_timeout, context=self._tls)
        if self._proxy is not None:
            connection.set_tunnel(self._host, self._port or 443, headers=_proxy_headers(self._proxy))
        return connection


class Pool:
    """Idle connections of one process."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []

    def __len__(self) -> int:
        return len(self._idle)

    def take(self) -> http.client.HTTPConnection | None:
        """Return an idle connection that is still open, the youngest first."""
        with self._lock:
            while self._idle:
                connection, since = self._idle.pop()
                if time.monotonic() - since < IDLE_SECONDS and not _is_closed(connection):
                    return connection
                connection.close()
        return None

    def keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < MAX_IDLE and connection.sock is not None:
                self._idle.append((connection, time.monotonic()))
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()


def _checked(base_url: str) -> SplitResult:
    """Return the parts of the service's address.

    :raises ValueError: it is no address of a service
    """
    parts = urlsplit(base_url)
    is_address = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    if not is_address or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("The base URL must look like https://pay.example.com, without a path.")
    return parts


def _checked_proxy(address: str) -> SplitResult:
    parts = urlsplit(address)
    if parts.scheme != "http" or not parts.hostname:
        raise ValueError("The proxy must look like http://proxy.example.com:3128.")
    return parts


def _proxy_headers(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(login.encode()).decode()}"}


def _tls_context(ca_file: str | None) -> ssl.SSLContext:
    """Return TLS 1.2 or newer, with verified certificates.

    :raises ValueError: the file has no certificates
    """
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except OSError as problem:
        raise ValueError(f"{ca_file} can't be read as certificates.") from problem
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _is_closed(connection: http.client.HTTPConnection) -> bool:
    """Return whether the other side has closed an idle connection, or sent what was not asked for."""
    try:
        return connection.sock is None or bool(select.select([connection.sock], [], [], 0)[0])
    except (OSError, ValueError):
        return True


def _words(problem: Exception) -> str:
    """Return what failed, without anything of the request."""
    if isinstance(problem, TimeoutError):
        return "it took too long"
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {problem.verify_message}"
    if isinstance(problem, ssl.SSLError) and problem.reason in NOT_TLS:
        return "the address says https, and this port answers plain http"
    if isinstance(problem, http.client.BadStatusLine) and str(problem).startswith(
        "\x15\x03"
    ):  # an alert of TLS
        return "the address says http, and this port answers https"
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror
    return type(problem).__name__


__all__ = ["HttpTransport", "Request", "Response", "Transport", "TransportError"]
