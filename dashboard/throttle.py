"""At most so many failures in so much time, counted in the shared cache.

A failure takes one of a few slots and holds it until the time is over. `cache.add` is atomic, so of many
guesses in parallel no more get through than there are slots; and the time slides, so there is no seam
between two windows at which twice as many would.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from django.core.cache import cache
from redis.exceptions import RedisError

log = structlog.get_logger("sluice.dashboard")

WINDOW = timedelta(minutes=15)


class TooManyFailures(Exception):
    """Every slot is taken."""

    def __init__(self, *, retry_at: datetime) -> None:
        super().__init__()
        self.retry_at = retry_at


@dataclass(frozen=True, slots=True)
class Limit:
    """How many failures one subject, such as an address, is allowed."""

    name: str
    slots: int

    def take(self, subject: str, *, now: datetime) -> list[str]:
        """Take a slot; return what `give_back` wants if it was no failure after all.

        :raises TooManyFailures: none is free
        """
        try:
            return [self._take(subject, now=now)]
        except RedisError as error:  # who has the password must not be locked out by a cache
            log.warning("sign-in not counted", error=type(error).__name__)
            return []

    def _take(self, subject: str, *, now: datetime) -> str:
        digest = hashlib.sha256(subject.encode(errors="surrogatepass")).hexdigest()
        keys = [f"sign-in:{self.name}:{digest}:{number}" for number in range(self.slots)]
        taken = cache.get_many(keys)
        for key in keys:
            if key not in taken and cache.add(key, now.timestamp(), timeout=WINDOW.total_seconds()):
                return key
        oldest = min(cache.get_many(keys).values(), default=now.timestamp())
        raise TooManyFailures(retry_at=datetime.fromtimestamp(oldest, tz=UTC) + WINDOW)


def give_back(slots: Sequence[str]) -> None:
    try:
        cache.delete_many(slots)
    except RedisError as error:
        log.warning("sign-in not counted", error=type(error).__name__)
