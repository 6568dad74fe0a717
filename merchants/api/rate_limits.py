"""Rate limits of API keys: writes, reads and calls of the sandbox per second, counted in the shared cache."""

import hashlib
import math
import time
from typing import Any

import structlog
from django.conf import settings
from django.core.cache import cache
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from kit.redis_client import redis_client
from kit.redis_errors import redis_error
from merchants.api.api_requests import noted_on

log = structlog.get_logger("sluice.rate_limits")

WINDOW = 1  # second
SANDBOX_PATHS = "/api/sandbox/"
SANDBOX_CALLS = 20  # reads and writes per window
EXPORTS, EXPORT_WINDOW = 10, 60  # exports per user, and seconds


class PerKeyRateLimit(BaseThrottle):
    """Count the calls of a key per second. The increment is atomic, so parallel calls are all counted.

    The state is stored on the request for the `RateLimit` headers.
    """

    def allow_request(self, request: Request, view: object) -> bool:
        policy, limit = _policy_of(request)
        now = time.time()
        calls = _count(f"rate:{policy}:{request.auth.pk}:{int(now)}")
        self._left = WINDOW - now % WINDOW
        reset = math.ceil(self._left)
        noted_on(request).rate_limit = {
            "RateLimit-Policy": f'"{policy}";q={limit};w={WINDOW}',
            "RateLimit": f'"{policy}";r={max(limit - calls, 0)};t={reset}',
        }
        return calls <= limit

    def wait(self) -> float:
        return self._left


def _policy_of(request: Request) -> tuple[str, int]:
    """Return the name of the limit that a request counts towards, and its calls per window."""
    if request.path.startswith(SANDBOX_PATHS):
        return "sandbox", SANDBOX_CALLS
    if request.method in SAFE_METHODS:
        return "reads", settings.RATE_LIMIT_READS
    return "writes", settings.RATE_LIMIT_WRITES


def may_export(*, person: object) -> bool:
    """Count an export of a user or a guest's link, and return whether it is allowed. Each export reads a whole list."""
    return _count(f"exports:{person}:{int(time.time()) // EXPORT_WINDOW}", seconds=EXPORT_WINDOW) <= EXPORTS


def is_within(rule: str, subject: str, *, most: int, seconds: int = 60) -> bool:
    """Count a request of a subject, such as an address, and return whether it is within the limit of a window."""
    hashed = hashlib.sha256(subject.encode()).hexdigest()[:32]
    return _count(f"{rule}:{hashed}:{int(time.time()) // seconds}", seconds=seconds) <= most


def _count(key: str, *, seconds: int = WINDOW) -> int:
    try:
        return _incremented(key, seconds=seconds)
    except redis_error() as error:  # without the cache, calls are allowed: availability matters more
        log.warning("rate limit not counted", error=type(error).__name__)
        return 0


def _incremented(key: str, *, seconds: int) -> int:
    if url := settings.CACHES["default"].get("LOCATION"):
        return _incremented_in_redis(redis_client(str(url)), key, seconds=seconds)
    cache.add(key, 0, timeout=seconds * 10)
    return cache.incr(key)


def _incremented_in_redis(redis: Any, key: str, *, seconds: int) -> int:
    """Increment with one command. The cache would send two, and make a client for each."""
    calls = int(redis.incr(key))
    if calls == 1:
        redis.expire(key, seconds * 10)
    return calls
