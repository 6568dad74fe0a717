"""Fixtures for all tests: two businesses that sign, a quiet cache, and a running service for journeys."""

import os
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db.backends.sqlite3.base import DatabaseOperations
from django.test import Client
from django.utils import timezone

from config.access_rules import addresses
from config.operations.health import readiness
from kit.db import clock
from merchants import rate_limits
from merchants.models import ApiKey
from merchants.request_log import RequestLog
from payments.services import requery
from payments.services.fee_rules import cached_rules
from payments.trace_numbers import trace_numbers
from tests.clients import Credentials, InProcessClient
from tests.factories import ApiKeyFactory, BusinessFactory
from tests.journeys.service import Service, start_service

# Slow on purpose everywhere else.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Each client of a test has middleware of its own: it looks for a static file when it is asked for it, and not for all
# of them at its beginning.
settings.WHITENOISE_AUTOREFRESH = True

_database = settings.DATABASES["default"]["TEST"].get("NAME")
if _database:  # SQLite makes the file, and not the folder of a fresh clone
    Path(_database).parent.mkdir(parents=True, exist_ok=True)

if settings.REDIS_URL:
    # Each test process empties a Redis database of its own; the service of the journeys has the named one.
    _address, _, _number = settings.REDIS_URL.rpartition("/")
    _own = int(_number) + 1 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    settings.CACHES["default"]["LOCATION"] = f"{_address}/{_own}"


@pytest.fixture(autouse=True, scope="session")
def _limits_are_declared() -> Iterator[None]:
    """Fail every test in which an address answers 429 without declaring a limit."""
    request = Client.request

    def checked(client: Client, **environment: Any) -> Any:
        answer = request(client, **environment)
        if answer.status_code == HTTPStatus.TOO_MANY_REQUESTS:
            declared = addresses().get(answer.resolver_match.route)  # None: an address that a test adds
            assert declared is None or declared.limits, "Declare the limit in config/access_rules.py."
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "request", checked)
        yield


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    """Clear the counted calls, cached prices and trace numbers of the test before: its reservation was rolled back."""
    cache.clear()
    readiness.clear()
    cached_rules.cache_clear()
    trace_numbers.discard()


@pytest.fixture(autouse=True)
def _one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the estimate of the database's time be this machine's time: tests move it, and count statements."""
    monkeypatch.setattr(clock.Estimate, "now", lambda _self: timezone.now())


@pytest.fixture(autouse=True)
def _patient_requery(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collect every answer within the run, on however busy a machine: a late one is stored by another thread."""
    monkeypatch.setattr(requery, "RUN_TIME", 30.0)


@pytest.fixture
def limit_clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Stop the clock of the limits within fixed windows, until the test moves it: a window could end during a test."""
    stopped = SimpleNamespace(now=1_800_000_000.0)
    monkeypatch.setattr(rate_limits, "time", SimpleNamespace(time=lambda: stopped.now))
    return stopped


@pytest.fixture
def ada(db: None) -> ApiKey:
    """The key of the business that asks."""
    return ApiKeyFactory(business=BusinessFactory(name="Ada Books"))


@pytest.fixture
def bisi(db: None) -> ApiKey:
    """The key of another business."""
    return ApiKeyFactory(business=BusinessFactory(name="Bisi Bikes"))


@pytest.fixture
def api(ada: ApiKey) -> InProcessClient:
    return InProcessClient(Credentials(ada.public_id, ada.secret))


@pytest.fixture
def other_api(bisi: ApiKey) -> InProcessClient:
    return InProcessClient(Credentials(bisi.public_id, bisi.secret))


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The real service: `manage.py sandbox` on SQLite, or gunicorn on PostgreSQL where DATABASE_URL says so."""
    folder: Path = tmp_path_factory.mktemp("service")
    with start_service(folder) as running:
        yield running


# Emptying tables between transactional tests would run into the append-only triggers of SQLite; they are
# put up again by the post_migrate signal that `flush` sends.
_sql_flush = DatabaseOperations.sql_flush


def _sql_flush_without_triggers(self: Any, *args: Any, **kwargs: Any) -> list[str]:
    with self.connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        drops = [f"DROP TRIGGER {name}" for (name,) in cursor.fetchall()]
    return [*drops, *_sql_flush(self, *args, **kwargs)]


DatabaseOperations.sql_flush = _sql_flush_without_triggers


# Calls of in-process clients are written down by tests that ask for it, not by a thread in between.
RequestLog.start = lambda _self: None  # type: ignore[method-assign]
