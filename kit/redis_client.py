"""The client of the shared Redis, imported when one is used: it takes 60 ms that commands don't need."""

from functools import lru_cache
from typing import Any

TIMEOUT = 0.5  # seconds; the most that an unavailable Redis delays a call


@lru_cache(maxsize=1)
def redis_client(url: str) -> Any:
    """Return this process's client. Threads share it, and each of its calls takes a connection of its pool."""
    from redis import Redis  # noqa: PLC0415

    return Redis.from_url(url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT)
