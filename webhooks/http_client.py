"""POST requests over aiohttp's connections, without its session (decision 0127).

aiohttp opens, reuses and closes the connections and parses the answers. Its session also handles redirects, cookies,
proxies and bodies of every kind, which costs more CPU than the rest of a request and isn't used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.streams import StreamReader
from yarl import URL

EXCERPT = 2048  # bytes of an answer's body that are returned
READ_BUFFER = 64 * 1024  # bytes of a body after which no more is read from the socket
DESTINATIONS = 256  # URLs that are kept parsed
SWITCHING_PROTOCOLS = 101
_NO_LIMIT = aiohttp.ClientTimeout(total=None)  # the caller limits the time of the whole request


@dataclass(frozen=True, slots=True)
class Destination:
    """A parsed URL: the request that identifies its connections, never sent itself, and the first lines to send."""

    request: aiohttp.ClientRequest
    first_lines: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The status of an answer, and the start of its body as far as it arrived with the headers."""

    status: int
    start: bytes
    is_whole: bool  # `start` is the whole body


class Client:
    """Posts to URLs through a connector. Use it within one event loop."""

    def __init__(self, connector: aiohttp.BaseConnector) -> None:
        self._connector = connector
        self._destination_of = lru_cache(DESTINATIONS)(_destination_of)

    async def post(
        self, url: str, *, headers: Mapping[str, str], pieces: Sequence[bytes], pause: float = 0
    ) -> Answer:
        """Send a body, with a pause in seconds between two of its pieces, and return the answer's beginning.

        :raises ValueError: the URL is invalid
        :raises OSError: the connection could not be opened
        :raises aiohttp.ClientError: the connection was closed before the answer
        :raises aiohttp.http_exceptions.HttpProcessingError: the answer is not HTTP
        """
        connection = await self._connect_and_send(url, headers, pieces, pause)
        try:
            return await _answer_of(connection)
        finally:
            connection.close()  # does nothing to a connection that was released

    async def post_and_hang_up(
        self, url: str, *, headers: Mapping[str, str], pieces: Sequence[bytes]
    ) -> None:
        """Send a body and close the connection without waiting for the answer. Raises as `post` does."""
        (await self._connect_and_send(url, headers, pieces, 0)).close()

    async def _connect_and_send(
        self, url: str, headers: Mapping[str, str], pieces: Sequence[bytes], pause: float
    ) -> Connection:
        destination = self._destination_of(url)
        head = _head_of(destination, headers, sum(map(len, pieces)))
        connection = await self._connector.connect(destination.request, [], _NO_LIMIT)
        try:
            _protocol_of(connection).set_response_params(
                read_until_eof=True, auto_decompress=False, read_bufsize=READ_BUFFER
            )
            await _write(connection, [head + pieces[0], *pieces[1:]], pause)
        except BaseException:
            connection.close()
            raise
        return connection


def _destination_of(url: str) -> Destination:
    """Parse a URL.

    :raises ValueError: it is not the URL of a web server, or it holds credentials
    """
    parsed = URL(url)
    if parsed.scheme not in {"http", "https"} or parsed.raw_user is not None:
        raise ValueError(url)
    request = aiohttp.ClientRequest("POST", parsed, loop=asyncio.get_running_loop())
    first_lines = (
        f"POST {parsed.raw_path_qs} HTTP/1.1\r\n"
        f"Host: {request.headers['Host']}\r\nAccept: */*\r\nAccept-Encoding: identity\r\n"
    )
    return Destination(request, first_lines)


def _head_of(destination: Destination, headers: Mapping[str, str], length: int) -> bytes:
    """Return the head of a request.

    :raises ValueError: a header contains a line break
    """
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if not lines.count("\n") == lines.count("\r") == len(headers):
        raise ValueError("A header contains a line break.")
    return f"{destination.first_lines}{lines}Content-Length: {length}\r\n\r\n".encode()


async def _write(connection: Connection, pieces: Sequence[bytes], pause: float) -> None:
    """Write the pieces. The transport keeps what the socket doesn't take at once."""
    for number, piece in enumerate(pieces):
        if number:
            await asyncio.sleep(pause)
        transport = connection.transport
        if transport is None or transport.is_closing():  # reading tells why, or has the answer
            return
        transport.write(piece)


async def _answer_of(connection: Connection) -> Answer:
    """Read the next answer that isn't interim, and release the connection if it can be used again."""
    protocol = _protocol_of(connection)
    message, body = await protocol.read()
    while 100 <= message.code < 200 and message.code != SWITCHING_PROTOCOLS:  # noqa: PLR2004  (RFC 9110: interim)
        message, body = await protocol.read()
    start, is_whole = _start_of(body)
    transport = connection.transport
    if body.is_eof() and transport is not None and not transport.get_write_buffer_size():
        connection.release()
    return Answer(message.code, start, is_whole)


def _start_of(body: StreamReader) -> tuple[bytes, bool]:
    """Return what has arrived of a body, up to the size of an excerpt, and whether that is all."""
    start = b""
    with suppress(aiohttp.ClientPayloadError):  # only the headers matter
        start = body.read_nowait(EXCERPT)[:EXCERPT]
    return start, body.at_eof()


def _protocol_of(connection: Connection) -> ResponseHandler:
    protocol = connection.protocol
    assert protocol is not None  # noqa: S101  (None only after the connection was released)
    return protocol
