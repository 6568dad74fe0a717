"""Liveness, readiness and metrics, for load balancers and Prometheus."""

import threading
import time
from dataclasses import dataclass
from hmac import compare_digest
from ipaddress import ip_address, ip_network

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST
from redis import Redis
from redis.exceptions import RedisError

from config.database.migration_state import unapplied_migrations
from config.models import LATE_AFTER, last_beat
from config.version import VERSION
from merchants.people.access import Limit, Who, open_to, public_page
from merchants.people.request_actors import client_address
from operations import metrics

BROKER_TIMEOUT = 0.5  # seconds

_migrated = threading.Event()  # set once true, because the code of this process doesn't change


@public_page
def livez(_request: HttpRequest) -> JsonResponse:
    """Report that the process responds, and its version."""
    return JsonResponse({"status": "ok", "version": VERSION})


@open_to(Who.PUBLIC, limits=(Limit.READINESS,))
def readyz(_request: HttpRequest) -> JsonResponse:
    """Report whether the process can serve requests: the database is available and migrated.

    Without a broker or workers, the status is `degraded` and the process stays ready, because payments continue and
    their events are stored.
    """
    states = readiness.states()
    if states.get("migrations") != "ok":
        return JsonResponse({"status": "unavailable", **states}, status=503, headers={"Retry-After": "5"})
    status = "ok" if set(states.values()) <= {"ok"} else "degraded"
    return JsonResponse({"status": status, **states})


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check, and the monotonic time when it was made."""

    states: dict[str, str]
    at: float

    @property
    def age(self) -> float:
        return time.monotonic() - self.at


class Readiness:
    """The state of the services that the process needs, checked at most once a second.

    `/readyz` is public, and a check costs statements and a connection to Redis. While one thread checks, others
    return the last result. If a check takes longer than `CHECK_TIMEOUT`, the database counts as unavailable, so that
    a database that hangs doesn't occupy every thread.
    """

    LIFETIME = 1.0  # seconds that a result is used
    CHECK_TIMEOUT = 5.0  # seconds

    def __init__(self) -> None:
        self._checking = threading.Lock()
        self._latest: Checked | None = None

    def states(self) -> dict[str, str]:
        latest = self._latest
        if latest is not None and latest.age < self.LIFETIME:
            return latest.states
        if self._checking.acquire(timeout=0 if latest is not None else self.CHECK_TIMEOUT):
            try:
                return self._check()
            finally:
                self._checking.release()
        latest = self._latest
        is_recent = latest is not None and latest.age < self.CHECK_TIMEOUT
        return latest.states if latest is not None and is_recent else {"database": "away"}

    def clear(self) -> None:
        self._latest = None

    def _check(self) -> dict[str, str]:
        latest = self._latest  # another thread may have checked while this one waited
        if latest is None or latest.age >= self.LIFETIME:
            latest = self._latest = Checked(_states(), time.monotonic())
        return latest.states


readiness = Readiness()


def _states() -> dict[str, str]:
    try:
        migrated, worker = has_migrated(), worker_state()
    except DatabaseError:
        return {"database": "away"}
    if not migrated:
        return {"database": "ok", "migrations": "missing"}
    return {"database": "ok", "migrations": "ok", "broker": broker_state(), "worker": worker}


def has_migrated() -> bool:
    """Return whether all migrations of this code are applied to the database."""
    if not _migrated.is_set() and not unapplied_migrations(connection):
        _migrated.set()
    return _migrated.is_set()


def worker_state() -> str:
    """Return ok, late, or none if no worker has ever sent a heartbeat."""
    beat = last_beat()
    if beat is None:
        return "none"
    return "ok" if timezone.now() - beat < LATE_AFTER else "late"


def broker_state() -> str:
    """Return ok or away. An in-memory broker is always ok."""
    if not settings.REDIS_URL:
        return "ok"
    try:
        with Redis.from_url(
            settings.REDIS_URL, socket_timeout=BROKER_TIMEOUT, socket_connect_timeout=BROKER_TIMEOUT
        ) as broker:
            broker.ping()
    except RedisError:
        return "away"
    return "ok"


@open_to(Who.MONITORING)
def metrics_page(request: HttpRequest) -> HttpResponse:
    """Show the metrics to clients in an allowed network or with the token."""
    if not (_has_token(request) or _is_near(request)):
        raise PermissionDenied
    return HttpResponse(metrics.exposition(), content_type=CONTENT_TYPE_LATEST)


def _has_token(request: HttpRequest) -> bool:
    expected = f"Bearer {settings.METRICS_TOKEN}".encode()
    given = request.META.get("HTTP_AUTHORIZATION", "").encode(errors="replace")
    return bool(settings.METRICS_TOKEN) and compare_digest(given, expected)


def _is_near(request: HttpRequest) -> bool:
    try:
        caller = ip_address(client_address(request))
    except ValueError:  # a Unix socket has no address
        return False
    return any(caller in ip_network(network) for network in settings.METRICS_ALLOW_CIDRS)
