"""After every journey, the service's ledger must be consistent."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _ledger_is_consistent_afterwards(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "service" in request.fixturenames:
        checked = request.getfixturevalue("service").command("check_ledger")
        assert checked.returncode == 0, checked.stdout + checked.stderr
