"""After the journeys of a file, the service's ledger must be consistent."""

from collections.abc import Iterator

import pytest

from tests.journeys.service import Service


@pytest.fixture(scope="module")
def _services() -> Iterator[list[Service]]:
    """Collect the service that the tests of a file use, and check its ledger at the end: a check starts a process."""
    used: list[Service] = []
    yield used
    for service in used:
        checked = service.command("check_ledger")
        assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.fixture(autouse=True)
def _ledger_is_consistent_afterwards(request: pytest.FixtureRequest, _services: list[Service]) -> None:
    if "service" in request.fixturenames:
        service = request.getfixturevalue("service")
        if service not in _services:
            _services.append(service)
