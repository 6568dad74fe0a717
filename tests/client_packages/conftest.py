import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).parent


@pytest.fixture(scope="session")
def npm():
    """The path of npm, without which `make test-clients` fails."""
    found = shutil.which("npm")
    if found is None:
        pytest.fail("Node.js 20 with npm is needed.")
    return found


@pytest.fixture(scope="session")
def tools(npm):
    """The folder with newman, bru, openapi-typescript and tsc, as `package-lock.json` pins them."""
    installed = TOOLS / "node_modules" / ".package-lock.json"
    lock = TOOLS / "package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < lock.stat().st_mtime:
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=TOOLS, check=True, capture_output=True, timeout=300)
    return TOOLS / "node_modules" / ".bin"
