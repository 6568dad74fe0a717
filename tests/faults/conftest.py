"""A service under supervision; skipped where PostgreSQL or Redis is not installed."""

import os
import shutil

import pytest

from tests.faults.postgresql import find_programs, running_postgresql
from tests.faults.shop import listening
from tests.faults.supervisor import supervised

pytest.register_assert_rewrite("tests.faults.promises")


def pytest_collection_modifyitems(items):
    if os.environ.get("CI") or (shutil.which("redis-server") and find_programs()):
        return
    for item in items:
        if item.get_closest_marker("faults"):
            item.add_marker(pytest.mark.skip(reason="needs PostgreSQL and Redis"))


@pytest.fixture(scope="session")
def _listener():
    with listening() as running:
        yield running


@pytest.fixture(scope="session")
def postgresql_server():
    with running_postgresql() as server:
        yield server


@pytest.fixture(scope="session")
def _stack(_listener, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stack")
    with (
        running_postgresql() as server,
        supervised(folder, server=server, receiver_url=_listener.url) as running,
    ):
        yield running


@pytest.fixture
def listener(_listener):
    _listener.hear_all()
    _listener.arrivals.clear()
    yield _listener
    _listener.hear_all()


@pytest.fixture
def stack(_stack, listener):
    """The whole service: web, one worker, beat."""
    _stack.have()
    return _stack
