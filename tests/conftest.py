"""Fixtures for all tests: two businesses with API keys, an empty cache, and a running service for journeys."""

import gc
import json
import os
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import hypothesis
import jsonschema_rs
import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from developer_site.openapi.document import document
from kit.db import clock
from kit.garbage_collection import collect_less_often
from merchants.api import rate_limits
from merchants.api.request_log import FailedCalls, RequestLog, request_log
from merchants.models import ApiKey
from merchants.people.access import rule_of
from operations.health import readiness
from payments.services.rails import requery, watch_looks
from payments.services.transactions import accepted_operations
from payments.trace_numbers import trace_numbers
from tests import committed_rows, database_copies, redis_databases
from tests.caches import CACHED
from tests.clients import Credentials, InProcessClient
from tests.dashboard.people import signed_in
from tests.deep_stacks import in_one_chunk
from tests.factories import ApiKeyFactory, BusinessFactory, UserFactory
from tests.journeys.service import Service, start_service, url_of
from virtual_accounts.services import number_pool
from webhooks import publishing
from webhooks.models import event_name

# Time on a busy machine is no property of the code.
hypothesis.settings.register_profile(
    "untimed",
    parent=hypothesis.settings.get_profile(hypothesis.settings.get_current_profile_name()),
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("untimed")

# Password hashing is slow by design; tests don't need that.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Each test client creates its own middleware. Look static files up on request, instead of scanning all of
# them at each start.
settings.WHITENOISE_AUTOREFRESH = True

# Most tests open a few accounts.
number_pool.BLOCK = 40

# Importing tests makes little garbage but many objects, which each full collection would look through again.
gc.disable()


# Pages, texts, and what banks and providers send: Django reads and writes the rows behind them in the same way on each
# database. Of these, only races, what skips on one database, and what is marked `servers` also run on PostgreSQL.
ALIKE_ON_EACH_DATABASE = (
    "tests/config/test_access_",
    "tests/config/test_admin.py",
    "tests/config/test_admin_card_numbers.py",
    "tests/config/test_admin_groups.py",
    "tests/config/test_admin_lookups.py",
    "tests/config/test_problems.py",
    "tests/connectors/",
    "tests/dashboard/",
    "tests/developer_site/",
    "tests/disputes/test_admin.py",
    "tests/disputes/test_hostile_files.py",
    "tests/docs/",
    "tests/operations/test_admin_",
    "tests/operations/test_cash_page.py",
    "tests/operations/test_connector_pages.py",
    "tests/operations/test_support_bundle.py",
    "tests/operations/test_tax_page.py",
    "tests/payments/admin/",
    "tests/payments/pages/",
    "tests/payments/rails/",
    "tests/payments/test_scenarios.py",
    "tests/virtual_accounts/test_bank_leniency.py",
)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests whose result may depend on which database and cache they run with."""
    for item in items:
        if _may_differ(item):
            item.add_marker("servers")


def _may_differ(item: pytest.Item) -> bool:
    """Return whether a test uses a database or cache, and in another way than through a page."""
    marks = {mark.name for mark in item.iter_markers()}
    if not {*getattr(item, "fixturenames", ()), *marks} & {"db", "django_db", "journey", "faults", "redis"}:
        return False
    if not item.nodeid.startswith(ALIKE_ON_EACH_DATABASE) or marks & {"journey", "redis", "skipif"}:
        return True
    return any(mark.kwargs.get("transaction") for mark in item.iter_markers("django_db"))


def pytest_collection_finish() -> None:
    collect_less_often()  # a third of a process's time went to the collector after some thousand tests
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    pyfuncitem.obj = in_one_chunk(pyfuncitem.obj)


@receiver(connection_created)
def _prepare_all_statements(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Let PostgreSQL keep the plans of all statements: tests repeat many more than the 100 of psycopg's default."""
    if connection.vendor == "postgresql":
        connection.connection.prepared_max = 2000


if settings.REDIS_URL:
    # Each test process clears its own Redis database; the service of the journeys uses the configured one.
    _address, _, _number = settings.REDIS_URL.rpartition("/")
    _own = redis_databases.claim(above=int(_number))
    settings.CACHES["default"]["LOCATION"] = f"{_address}/{_own}"


@pytest.fixture(scope="session")
def django_db_keepdb(request: pytest.FixtureRequest, django_db_modify_db_settings: None) -> bool:
    """Start from a copy of a migrated database."""
    test_settings = connection.settings_dict["TEST"]
    if connection.vendor == "postgresql":
        server = os.environ["DATABASE_URL"]
        test_settings["TEMPLATE"] = database_copies.postgresql_template(
            dict(os.environ), lambda name: url_of(server, name)
        )
        test_settings["MIGRATE"] = False
        return bool(request.config.getoption("reuse_db"))
    test_settings["NAME"] = str(database_copies.unused_file())
    if not database_copies.copy_to(Path(test_settings["NAME"])):
        return request.config.getoption("reuse_db")
    test_settings["MIGRATE"] = False
    return True


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    if connection.vendor == "sqlite" and not database_copies.sqlite_file().exists():
        with django_db_blocker.unblock():
            database_copies.keep()


@pytest.fixture(autouse=True, scope="session")
def _limits_are_declared() -> Iterator[None]:
    """Fail any test in which a URL returns 429 without a declared limit."""
    request = Client.request

    def checked(client: Client, **environment: Any) -> Any:
        answer = request(client, **environment)
        if answer.status_code == HTTPStatus.TOO_MANY_REQUESTS:
            rule = rule_of(answer.resolver_match.func)
            assert rule is not None
            assert rule.limits, "Declare the limit on the view."
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "request", checked)
        yield


@pytest.fixture(autouse=True, scope="session")
def _events_fit_their_schemas() -> Iterator[None]:
    """Fail any test that makes an event whose body the OpenAPI document does not describe."""
    render = publishing.render
    validators: dict[str, jsonschema_rs.Draft202012Validator] = {}

    def checked(event_id: UUID, event: str, **options: Any) -> str:
        body = render(event_id, event, **options)
        if event not in validators:
            kind = document()["webhooks"][event_name(event)]["post"]["requestBody"]["content"]
            schema = kind["application/json"]["schema"] | {"components": document()["components"]}
            validators[event] = jsonschema_rs.Draft202012Validator(schema)  # a tenth of jsonschema's time
        validators[event].validate(json.loads(body))
        return body

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publishing, "render", checked)
        yield


@pytest.fixture(autouse=True)
def _clear_process_state() -> None:
    """Clear counted calls, cached prices and connectors, reserved trace numbers and calls waiting for the log: the
    previous test rolled back what they refer to, and a cache that it filled would expire during this one.
    """
    cache.clear()
    readiness.clear()
    for cached in CACHED:
        cached.cache_clear()
    trace_numbers.discard()
    request_log._waiting.clear()
    request_log._failed = FailedCalls()


@pytest.fixture(autouse=True)
def _one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimate the database's time by this machine's clock, which tests can set without extra statements."""
    monkeypatch.setattr(clock.Estimate, "now", lambda _self: timezone.now())


@pytest.fixture(autouse=True)
def _long_requery_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for every answer within the run, even on a busy machine, because another thread stores late
    ones.
    """
    monkeypatch.setattr(requery, "RUN_TIME", 30.0)
    monkeypatch.setattr(watch_looks, "RUN_TIME", 30.0)


@pytest.fixture(autouse=True)
def _no_wait_for_accepted_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave captures and voids that an acquirer only accepts to re-query. The tests of the wait set its length."""
    monkeypatch.setattr(accepted_operations, "LONGEST_WAIT", 0.0)


@pytest.fixture
def limit_clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Freeze the clock of the rate limits, because their fixed window could otherwise end during a test."""
    stopped = SimpleNamespace(now=1_800_000_000.0)
    monkeypatch.setattr(rate_limits, "time", SimpleNamespace(time=lambda: stopped.now))
    return stopped


@pytest.fixture
def ada(db: None) -> ApiKey:
    """An API key of the business that makes the requests."""
    return ApiKeyFactory(business=BusinessFactory(name="Ada Books"))


@pytest.fixture
def bisi(db: None) -> ApiKey:
    """An API key of another business."""
    return ApiKeyFactory(business=BusinessFactory(name="Bisi Bikes"))


@pytest.fixture
def api(ada: ApiKey) -> InProcessClient:
    return InProcessClient(Credentials(ada.public_id, ada.secret))


@pytest.fixture
def other_api(bisi: ApiKey) -> InProcessClient:
    return InProcessClient(Credentials(bisi.public_id, bisi.secret))


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The real service: `manage.py sandbox` on SQLite, or gunicorn if DATABASE_URL is a PostgreSQL
    database.
    """
    folder: Path = tmp_path_factory.mktemp("service")
    with start_service(folder) as running:
        yield running


committed_rows.delete_after_tests()


# The thread that stores the request log is off: tests that need stored calls flush them explicitly.
RequestLog.start = lambda _self: None  # type: ignore[method-assign]


@pytest.fixture
def ones(db: None) -> list[Client]:
    """Return the browsers of two people of staff with all rights."""
    people = [UserFactory(is_staff=True, is_superuser=True) for _ in range(2)]
    return [signed_in(person, client=Client()) for person in people]
