"""The ways in which an exam sends a request that a delivery never uses: slowly, and without awaiting the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

from webhooks.sending.sender import Exchange, Sender

PIECES = 3  # of a body that is sent in pieces
PIECE_PAUSE = 1.0  # seconds between two of them


async def post_in_pieces(sender: Sender, url: str, *, body: bytes, headers: Mapping[str, str]) -> Exchange:
    """Send a body in TCP segments with pauses between them, which count neither towards the limit nor the time."""
    pauses = (PIECES - 1) * PIECE_PAUSE

    async def pieces() -> AsyncIterator[bytes]:
        size = -(-len(body) // PIECES)
        for start in range(0, len(body), size):
            await asyncio.sleep(PIECE_PAUSE if start else 0)
            yield body[start : start + size]

    exchange = await sender.post_pieces(url, pieces, headers=_of_length(headers, body), pauses=pauses)
    exchange.total_ms -= pauses * 1000
    exchange.wait_ms = None  # it overlaps with the pauses
    return exchange


async def post_and_hang_up(sender: Sender, url: str, *, body: bytes, headers: Mapping[str, str]) -> Exchange:
    """Send a body and close the connection before the answer. The result has no status."""
    is_sent = asyncio.Event()

    async def noted() -> AsyncIterator[bytes]:
        yield body
        is_sent.set()

    post = asyncio.create_task(sender.post_pieces(url, noted, headers=_of_length(headers, body)))
    sending = asyncio.create_task(is_sent.wait())
    await asyncio.wait({post, sending}, return_when=asyncio.FIRST_COMPLETED)
    sending.cancel()
    if post.done() and post.result().error:
        return post.result()
    post.cancel()
    await asyncio.wait({post})
    return Exchange(error="hung_up", explanation="The connection was closed before the answer, on purpose.")


def _of_length(headers: Mapping[str, str], body: bytes) -> dict[str, str]:
    """Return the headers with the body's length. Without it, a body from an iterator is sent in chunks."""
    return {**headers, "Content-Length": str(len(body))}
