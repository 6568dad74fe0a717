"""A service under supervision; skipped where PostgreSQL or Redis is not installed."""

import os
import shutil

import pytest

from tests.faults.postgresql import find_programs, running_postgresql
from tests.faults.receiver import running_receiver
from tests.faults.supervisor import supervised

pytest.register_assert_rewrite("tests.faults.guarantees")


def pytest_collection_modifyitems(items):
    if os.environ.get("CI") or (shutil.which("redis-server") and find_programs()):
        return
    for item in items:
        if item.get_closest_marker("faults"):
            item.add_marker(pytest.mark.skip(reason="needs PostgreSQL and Redis"))


@pytest.fixture(scope="session")
def _receiver():
    with running_receiver() as running:
        yield running


@pytest.fixture(scope="session")
def postgresql_server():
    with running_postgresql() as server:
        yield server


@pytest.fixture(scope="session")
def _stack(_receiver, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stack")
    with (
        running_postgresql() as server,
        supervised(folder, server=server, receiver_url=_receiver.url) as running,
    ):
        yield running


@pytest.fixture
def receiver(_receiver):
    _receiver.resume()
    _receiver.arrivals.clear()
    yield _receiver
    _receiver.resume()


@pytest.fixture
def stack(_stack, receiver):
    """The whole service: web, one worker, beat."""
    _stack.ensure_running()
    return _stack
