"""One HTTP request to a merchant's endpoint, with limits on time, memory and reachable addresses.

The request may take ten seconds from the DNS lookup to the end of the response headers. Connections are opened
only to public addresses, checked when the socket is opened. Redirects, proxies, cookies, .netrc and compression
are not used, and the response body is not awaited.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self, TypeAlias

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import AddrInfoType, Connection
from aiohttp.tracing import Trace
from yarl import URL

from kit.db.card_number_fields import masked_bytes, masked_start
from webhooks.endpoints.ip_address_rules import Network, is_public

EXCERPT = 2048  # bytes of the response body that are stored
DESTINATIONS = 256  # URLs that are kept parsed
# A URL without credentials, in ASCII without blanks, and its path and query as they are spelled.
_SPELLED = re.compile(r"https?://[^/?#@]+(?P<target>(?:[/?][!-\"$-~]*)?)(?:#[!-~]*)?\Z", re.IGNORECASE)
LOOKUPS_AT_ONCE = 16
LOOKUP_SLOT_SECONDS = 0.5  # seconds after which a slow lookup frees its slot
Body: TypeAlias = bytes | AsyncIterable[bytes]
LookUp = Callable[[str, int, int], list[Any]]  # host, port, family: what `socket.getaddrinfo` returns


@dataclass(slots=True)
class Exchange:
    """The result of one request. Durations are in milliseconds; `status` is None without a response."""

    status: int | None = None
    error: str = ""
    explanation: str = ""
    address: str | None = None
    dns_ms: float | None = None
    connect_ms: float | None = None
    tls_ms: float | None = None
    wait_ms: float | None = None
    total_ms: float = 0.0
    excerpt: bytes = b""

    @property
    def succeeded(self) -> bool:
        return self.status in range(200, 300)


class BlockedAddress(OSError):
    """One of the addresses of the host is not public."""


def look_up(host: str, port: int, family: int) -> list[Any]:
    """Look up a host with the system's resolver."""
    return socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)


@cache
def verifying_tls() -> ssl.SSLContext:
    """Return a context that verifies certificates against the system's authorities, which are loaded once."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class Tls(ssl.SSLObject):
    """A TLS object that records when its handshake starts and ends.

    asyncio connects and shakes hands in one step and calls `do_handshake` for every message from the peer. The
    first call is the moment when the TCP connection is established.
    """

    def do_handshake(self) -> None:
        marks = _marks.get()
        marks.tls_started_at = marks.tls_started_at or time.perf_counter()
        super().do_handshake()
        marks.tls_ended_at = time.perf_counter()


class Sender:
    """Send bodies to endpoints. Use it as an async context manager; it reuses connections."""

    def __init__(
        self,
        *,
        timeout: float,
        allowed: Sequence[Network] = (),
        look_up: LookUp = look_up,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._timeout = timeout
        self._allowed = allowed
        self._look_up = look_up
        self._tls = tls or verifying_tls()
        self._tls.sslobject_class = Tls

    async def __aenter__(self) -> Self:
        connector = Connector(
            resolver=VettingResolver(self._look_up, self._allowed),
            socket_factory=self._open_socket,
            ttl_dns_cache=5,
            limit=0,
            limit_per_host=0,  # merchants may share a host; `concurrency` limits requests per endpoint
            ssl=self._tls,
            keepalive_timeout=15,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),  # ours is around everything
            headers={"Accept": "*/*", "Accept-Encoding": "identity"},
            skip_auto_headers=("Content-Type", "User-Agent"),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def post(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> Exchange:
        """Send a body and return the result. Failures of the peer never raise."""
        return await self.post_pieces(url, lambda: body, headers=headers)

    async def ask(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> Exchange:
        """Send a body and read the start of the response's body too, within the same time limit."""
        return await self.post_pieces(url, lambda: body, headers=headers, reads_body=True)

    async def post_pieces(
        self,
        url: str,
        body: Callable[[], Body],
        *,
        headers: Mapping[str, str],
        pauses: float = 0,
        reads_body: bool = False,
    ) -> Exchange:
        """Send a body that is made anew for each attempt. It may pause, for `pauses` seconds altogether."""
        marks = Marks()
        _marks.set(marks)
        exchange = Exchange()
        try:
            async with asyncio.timeout(self._timeout + pauses):
                response = await self._send_on_open_connection(destination_of(url), body, headers, marks)
                start = await _read_start(response) if reads_body else b""
            marks.answered_at = time.perf_counter()
            _note_answer(exchange, response, start)
        except Exception as error:  # noqa: BLE001  (every failure becomes part of the result)
            exchange.error, exchange.explanation = explain(error, self._timeout)
        marks.note(exchange)
        return exchange

    async def _send_on_open_connection(
        self, url: URL, body: Callable[[], Body], headers: Mapping[str, str], marks: Marks
    ) -> aiohttp.ClientResponse:
        """Send a request, again if the peer closed the kept connection that it was sent on.

        The peer may close an idle connection while we write to it. A request on a new connection is never repeated.
        Each round uses such a connection up, and a new one is never tried twice.
        """
        while True:
            marks.dialled_at = None
            try:
                return await self._session.post(url, data=body(), headers=headers, allow_redirects=False)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                if marks.connected_at is None or marks.dialled_at is not None:
                    raise

    def _open_socket(self, address: AddrInfoType) -> socket.socket:
        """Open a socket. This is the last point at which an address can be refused."""
        family, kind, protocol, _, (host, *_) = address
        _require_callable(str(host), self._allowed)
        _marks.get().dial(str(host))
        return socket.socket(family, kind, protocol)


@lru_cache(DESTINATIONS)
def destination_of(url: str) -> URL:
    """Parse a URL. Its path and query are sent byte for byte: gateways check a signature of the address.

    :raises ValueError: it is not the URL of a web server in ASCII, or it holds credentials
    """
    parsed, spelled = URL(url), _SPELLED.match(url)
    if spelled is None:
        raise ValueError(url)
    # As a path, so that the question mark of an empty query stays too.
    target = spelled["target"] if spelled["target"].startswith("/") else f"/{spelled['target']}"
    return URL.build(scheme=parsed.scheme, authority=parsed.raw_authority, path=target, encoded=True)


class Connector(aiohttp.TCPConnector):
    """Open or reuse connections, and record when that is done and who the peer is."""

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  (aiohttp's own signature)
    ) -> Connection:
        connection = await super().connect(req, traces, timeout)
        marks = _marks.get()
        marks.connected_at = time.perf_counter()
        if peer := connection.transport and connection.transport.get_extra_info("peername"):
            marks.address = _without_zone(peer[0])
        return connection


@dataclass(slots=True)
class Marks:
    """The address of a request and the start and end of its phases, by the performance counter."""

    started_at: float = field(default_factory=time.perf_counter)
    lookup_started_at: float | None = None
    lookup_ended_at: float | None = None
    dialled_at: float | None = None  # None on a reused connection
    tls_started_at: float | None = None
    tls_ended_at: float | None = None
    connected_at: float | None = None  # TLS included
    answered_at: float | None = None
    address: str | None = None

    def dial(self, address: str) -> None:
        """Record the start of a connection attempt; a host may have several addresses to try."""
        self.address = _without_zone(address)
        self.dialled_at = self.dialled_at or time.perf_counter()
        self.tls_started_at = self.tls_ended_at = None

    def note(self, exchange: Exchange) -> None:
        exchange.address = self.address
        exchange.dns_ms = _between(self.lookup_started_at, self.lookup_ended_at)
        exchange.connect_ms = _between(self.dialled_at, self.tls_started_at or self.connected_at)
        exchange.tls_ms = _between(self.tls_started_at, self.tls_ended_at)
        exchange.wait_ms = _between(self.connected_at, self.answered_at)
        exchange.total_ms = (time.perf_counter() - self.started_at) * 1000


_marks: ContextVar[Marks] = ContextVar("marks")  # of the current task's request


class VettingResolver(AbstractResolver):
    """Resolve hosts and refuse those with an address that is not public.

    The system's resolver may block longer than the timeout, so each lookup has a thread, and the number of lookups
    at once is limited. A slow lookup frees its slot after a while, so slow names delay only each other.
    """

    def __init__(self, look_up: LookUp, allowed: Sequence[Network]) -> None:
        self._look_up = look_up
        self._allowed = allowed
        self._places = asyncio.Semaphore(LOOKUPS_AT_ONCE)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        marks = _marks.get()  # of the first request; concurrent ones for the same host share the lookup
        marks.lookup_started_at = time.perf_counter()
        async with self._places:
            answer = _in_thread(partial(self._look_up, host, port, family))
            await asyncio.wait([answer], timeout=LOOKUP_SLOT_SECONDS)
        found = await answer
        marks.lookup_ended_at = time.perf_counter()
        for _, _, _, _, address in found:
            _require_callable(str(address[0]), self._allowed)
        return [
            ResolveResult(
                hostname=host,
                host=str(address[0]),
                port=port,
                family=kind,
                proto=protocol,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for kind, _, protocol, _, address in found
        ]

    async def close(self) -> None:
        """Do nothing. A blocked thread ends with its lookup or with the process."""


def _in_thread(work: Callable[[], list[Any]]) -> asyncio.Future[list[Any]]:
    """Run blocking work in a daemon thread, which does not delay the end of the process."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[Any]] = loop.create_future()

    def settle(settle_with: Callable[[Any], None], result: Any) -> None:
        if not answer.done():
            settle_with(result)

    def run() -> None:
        try:
            settling = partial(settle, answer.set_result, work())
        except Exception as error:  # noqa: BLE001  (raised again where the future is awaited)
            settling = partial(settle, answer.set_exception, error)
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settling)

    threading.Thread(target=run, name="dns", daemon=True).start()
    return answer


def _require_callable(host: str, allowed: Sequence[Network]) -> None:
    address = _without_zone(host)
    if not is_public(address, allowed=allowed):
        raise BlockedAddress(f"{address} is not a public address.")


def _without_zone(address: str) -> str:
    """Return an IP address without the network interface that a link-local one may name."""
    return address.partition("%")[0]


async def _read_start(response: aiohttp.ClientResponse) -> bytes:
    """Read the start of a body, to its end or the length that is stored."""
    start = b""
    while len(start) <= EXCERPT and not response.content.at_eof():
        start += await response.content.read(EXCERPT + 1 - len(start))
    return start


def _note_answer(exchange: Exchange, response: aiohttp.ClientResponse, start: bytes) -> None:
    """Note the status and the start of the body: what was read, or arrived with the headers."""
    exchange.status = response.status
    with suppress(aiohttp.ClientPayloadError):  # only the headers matter
        start = (start or response.content.read_nowait(EXCERPT))[:EXCERPT]
        exchange.excerpt = masked_bytes(start) if response.content.at_eof() else masked_start(start)
    if response.content.at_eof():
        response.release()
    else:  # the rest of the body is not read
        response.close()
    if response.status in range(300, 400):
        exchange.error, exchange.explanation = "redirect", "The answer is a redirect, which is not followed."
    elif not exchange.succeeded:
        is_ours = response.status < HTTPStatus.INTERNAL_SERVER_ERROR
        exchange.error = "client_error" if is_ours else "server_error"
        exchange.explanation = f"The endpoint answered {response.status}."


def explain(error: Exception, timeout: float) -> tuple[str, str]:
    """Return the class of a failure and an explanation without text from the peer."""
    cause: BaseException | None = error
    while cause is not None:
        for kind, name, sentence in _FAILURES:
            if isinstance(cause, kind):
                return name, sentence.format(timeout=f"{timeout:g}")
        cause = getattr(cause, "os_error", None) or cause.__cause__ or cause.__context__
    return "network_error", "The exchange failed."


_FAILURES: tuple[tuple[type[BaseException], str, str], ...] = (
    (TimeoutError, "timeout", "No answer within {timeout} seconds."),
    (BlockedAddress, "blocked_address", "The address is not a public one."),
    (ssl.SSLCertVerificationError, "tls_certificate", "The certificate is not valid for this address."),
    (aiohttp.ClientConnectorCertificateError, "tls_certificate", "The certificate is not valid for this address."),
    (ssl.SSLError, "tls_error", "The TLS handshake failed."),
    (socket.gaierror, "dns_error", "The name could not be looked up."),
    (ConnectionRefusedError, "connection_refused", "The connection was refused."),
    (ConnectionResetError, "connection_reset", "The connection was reset."),
    (BrokenPipeError, "connection_reset", "The connection was reset."),
    (aiohttp.ServerDisconnectedError, "disconnected", "The connection was closed without an answer."),
    (aiohttp.ClientResponseError, "bad_answer", "The answer is not HTTP."),
    (aiohttp.ClientPayloadError, "bad_answer", "The answer is not HTTP."),
    (UnicodeError, "dns_error", "The name could not be looked up."),
    (ValueError, "invalid_url", "The address is not a URL."),
)  # fmt: skip


def _between(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else (end - start) * 1000
