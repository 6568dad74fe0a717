import shutil

import pytest


@pytest.fixture(scope="session")
def npm():
    """The path of npm, without which `make test-clients` fails."""
    found = shutil.which("npm")
    if found is None:
        pytest.fail("Node.js 20 with npm is needed.")
    return found
