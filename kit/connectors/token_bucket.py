"""A token bucket keeps calls under a provider's rate limit. All processes share it in Redis. Decision 0091.

Its state is one number: the time at which it will be full. Each token that is taken moves that time by what one token needs
to flow in. A bucket whose time is further away than an empty one's is in debt, and the next call waits.
"""

import threading
import time
from typing import Any, Protocol

import structlog
from django.conf import settings

from kit.connectors.connector_metrics import TOKEN_WAIT_SECONDS
from kit.redis_client import redis_client
from kit.redis_errors import redis_error

log = structlog.get_logger("sluice.connectors")

LONGEST_WAIT = 2.0  # seconds that a call waits for a token
RESERVE = 0.2  # part of a bucket that queries leave to payments
# Without Redis, each process has a bucket of its own with this part of the limit: two web processes and two workers.
PROCESSES = 4
WITHOUT_REDIS = 5.0  # seconds after an error of Redis in which it isn't asked
SHORTEST_PAUSE = 0.005  # seconds

# Return the later of the stored time and ARGV[1], plus ARGV[2], and store it unless it is later than ARGV[3]. If ARGV[2] isn't
# 0, a call was made: count it in KEYS[2].
ADVANCE = """
local full_at = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), tonumber(ARGV[1])) + tonumber(ARGV[2])
local text = string.format('%.6f', full_at)
if full_at <= tonumber(ARGV[3]) then
  redis.call('SET', KEYS[1], text, 'EX', 3600)
  if tonumber(ARGV[2]) > 0 then
    redis.call('INCR', KEYS[2])
    redis.call('EXPIRE', KEYS[2], 180)
  end
end
return text
"""
MINUTE = 60


def reset_told(text: str, *, default: float, longest: float) -> float:
    """Return the seconds of a header that says when a rate limit allows calls again. A longer time isn't believed.

    >>> reset_told("7", default=5, longest=300), reset_told("", default=5, longest=300), reset_told("900", default=5, longest=300)
    (7.0, 5, 300)
    """
    is_number = text.isascii() and text.isdecimal() and len(text) < 10  # noqa: PLR2004
    return min(float(text), longest) if is_number else default


def calls_in_last_minute(connector: str) -> int | None:
    """Return the calls that took a token of a connector's buckets in the last full minute, in all processes.

    None: Redis, which counts them, isn't configured or doesn't answer.
    """
    if not settings.REDIS_URL:
        return None
    try:
        return int(_shared_redis().get(_counter(connector, time.time() - MINUTE)) or 0)
    except redis_error():
        return None


def _counter(connector: str, at: float) -> str:
    return f"sluice.calls:{connector}:{int(at // MINUTE)}"


class NoToken(Exception):
    """The limit is used up for longer than a call waits. No call was made."""


class Clock(Protocol):
    """What the bucket needs of the module `time`."""

    def time(self) -> float: ...

    def sleep(self, seconds: float, /) -> None: ...


class TokenBucket:
    """A bucket for `burst` tokens, into which `per_second` flow. Thread-safe.

    The name says the account and what is limited, such as `checkout:pc_…:reads`. Metrics have what precedes the first colon.
    """

    def __init__(self, name: str, *, per_second: float, burst: int) -> None:
        self.clock: Clock = time
        self._name = name
        self._per_second = per_second
        self._seconds = burst / per_second  # until an empty bucket is full
        self._full_at = 0.0  # as this process last saw it
        self._lock = threading.Lock()
        self._redis_from = 0.0  # when Redis may be asked again

    def wait(self) -> float:
        """Return the seconds until there is a token, as far as this process knows."""
        return max(self._full_at - self.clock.time() - self._seconds, 0.0)

    def take(self, *, patience: float = LONGEST_WAIT, leaves_reserve: bool = False) -> float:
        """Take a token, and return the seconds waited for it, at most about `patience`.

        Payments get the next tokens in turn. With `leaves_reserve`, as queries do, a token is taken only when more than
        the reserve is there.

        :raises NoToken: there is none in this time
        """
        waited, ahead = 0.0, 0.0 if leaves_reserve else patience
        while True:
            wait = self._try(ahead=ahead, leaves_reserve=leaves_reserve)
            if waited + wait > patience:
                raise NoToken
            if wait > 0:
                pause = max(wait, SHORTEST_PAUSE)
                self.clock.sleep(pause)
                waited += pause
            if wait <= ahead:
                break
        if waited:
            call = "query" if leaves_reserve else "payment"
            TOKEN_WAIT_SECONDS.labels(self._name.partition(":")[0], call).observe(waited)
        return waited

    def empty(self, *, reset: float) -> None:
        """Empty the bucket, and let nothing flow in for some seconds, because the provider refused a call for its limit."""
        self._advance(to=self.clock.time() + reset + self._seconds)
        log.warning("rate limit of a provider", bucket=self._name, seconds=reset)

    def _try(self, *, ahead: float, leaves_reserve: bool) -> float:
        """Take a token if it will be there within `ahead` seconds, and return the seconds until it is."""
        now = self.clock.time()
        usable = now + self._seconds * (1 - RESERVE if leaves_reserve else 1)
        return max(self._advance(to=now, tokens=1, latest=usable + ahead) - usable, 0.0)

    def _advance(self, *, to: float, tokens: int = 0, latest: float = float("inf")) -> float:
        """Return when the bucket is full: not before `to`, and later by some tokens. Store it unless it is after `latest`."""
        now = self.clock.time()
        if settings.REDIS_URL and now >= self._redis_from:
            try:
                return self._advance_in_redis(to, tokens / self._per_second, latest)
            except redis_error() as error:
                log.warning("rate limit not shared", bucket=self._name, error=type(error).__name__)
                self._redis_from = now + WITHOUT_REDIS
        with self._lock:
            full_at = max(self._full_at, to) + tokens * PROCESSES / self._per_second
            if full_at <= latest:
                self._full_at = full_at
        return full_at

    def _advance_in_redis(self, to: float, by: float, latest: float) -> float:
        keys = f"sluice.tokens:{self._name}", _counter(self._name.partition(":")[0], time.time())
        self._full_at = float(_shared_redis().eval(ADVANCE, len(keys), *keys, to, by, latest))
        return self._full_at


def _shared_redis() -> Any:
    return redis_client(str(settings.CACHES["default"]["LOCATION"]))
