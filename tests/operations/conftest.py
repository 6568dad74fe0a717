"""A scratch host for the guide's commands; the tests of this package run in order, on the same host."""

import pytest

from tests.operations.blocks import Guide
from tests.operations.guide_operator import Operator
from tests.operations.scratch_host import scratch_host
from tests.operations.surroundings import Surroundings


@pytest.fixture(scope="session")
def guide():
    return Guide()


@pytest.fixture(scope="session")
def host():
    with scratch_host() as running:
        yield running


@pytest.fixture(scope="session")
def operator(host):
    surroundings = Surroundings(host)
    surroundings.prepare()
    surroundings.publish_release("v1.0")
    surroundings.publish_release("v1.1")
    with host.shell() as shell:
        yield Operator(host, surroundings, shell)
