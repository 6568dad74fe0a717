"""After every journey the books of the service must be right."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _books_are_right_afterwards(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "service" in request.fixturenames:
        checked = request.getfixturevalue("service").command("check_ledger")
        assert checked.returncode == 0, checked.stdout + checked.stderr
