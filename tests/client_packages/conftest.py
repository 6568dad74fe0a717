import shutil
from pathlib import Path

import pytest

from tests.client_packages.programs import NODE_CLIENT, run

TOOLS = Path(__file__).parent
OLDEST_NODE = 20
collect_ignore = ["generated"]  # programs that import what is generated


@pytest.fixture(scope="session")
def npm():
    """The path of npm, without which `make test-clients` fails."""
    node, found = shutil.which("node"), shutil.which("npm")
    if node is None or found is None:
        pytest.fail("Install Node.js 20 or newer, with npm.")
    version = run(node, "--version", cwd=TOOLS).strip()
    if int(version.removeprefix("v").partition(".")[0]) < OLDEST_NODE:
        pytest.fail(f"Node.js {OLDEST_NODE} or newer is needed, not {version}.")
    return found


@pytest.fixture(scope="session")
def tools(npm):
    """The folder with newman, bru, openapi-typescript and tsc, as `package-lock.json` pins them."""
    install(npm, TOOLS)
    return TOOLS / "node_modules" / ".bin"


@pytest.fixture(scope="session")
def node_client(npm):
    """The folder of the Node client with its development dependencies, compiled together with its tests."""
    install(npm, NODE_CLIENT)
    shutil.rmtree(NODE_CLIENT / "build", ignore_errors=True)
    run(NODE_CLIENT / "node_modules" / ".bin" / "tsc", "--project", "tsconfig.tests.json")
    return NODE_CLIENT


def install(npm, folder):
    """Install what the folder's lock file names, unless that is done."""
    installed, lock = folder / "node_modules" / ".package-lock.json", folder / "package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < lock.stat().st_mtime:
        run(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)
