"""The Node client: its types, its own tests, and calls to a running service."""

import json

import pytest
from django.core.management import call_command

from config.environment.env import PROJECT
from tests.client_packages.programs import NODE_CLIENT, run
from tests.cutting_proxy import CuttingProxy

pytestmark = pytest.mark.clients

TOOLS = PROJECT / "tests" / "client_packages"
MOST_LINES = 1_650  # without the schema


def test_has_current_types(npm, node_client, tmp_path):
    document = tmp_path / "openapi.json"
    call_command("spectacular", format="openapi-json", file=str(document))
    target = tmp_path / "schema.d.ts"

    run(npm, "exec", "--", "openapi-typescript", str(document), "-o", str(target))

    assert target.read_text() == (NODE_CLIENT / "src" / "schema.d.ts").read_text(), "make client-models"


def test_passes_its_own_tests(node_client):
    assert "# fail 0" in run("node", "--test", "build/tests/")


def test_executes_each_write_once_if_its_answer_is_lost(node_client, service, tmp_path):
    proxy = CuttingProxy(service.base_url)
    keys = json.loads((service.folder / "credentials.json").read_text())
    (tmp_path / "credentials.json").write_text(json.dumps(keys | {"base_url": proxy.url}))

    printed = run("node", "build/tests/lost.js", cwd=NODE_CLIENT, SLUICE_SANDBOX=str(tmp_path))

    proxy.close()
    assert printed.strip() == "ok"
    assert proxy.times("/simulate") == [1]
    counts = {count for (_, path, _), count in proxy.seen.items() if not path.endswith("/simulate")}
    assert counts == {1, 2}  # reads and writes
    assert {proxy.times(ending)[0] for ending in ("/payments", "/refunds", "/capture", "/void")} == {2}


def test_is_small():
    files = [file for file in (NODE_CLIENT / "src").glob("*.ts") if file.name != "schema.d.ts"]

    assert sum(len(file.read_text().splitlines()) for file in files) <= MOST_LINES


def test_has_the_version_of_the_service(node_client):
    version = json.loads((NODE_CLIENT / "package.json").read_text())["version"]

    assert f'VERSION = "{version}"' in (NODE_CLIENT / "src" / "version.ts").read_text()
    assert f'version = "{version}"' in (PROJECT / "pyproject.toml").read_text()


@pytest.mark.parametrize("folder", [NODE_CLIENT, TOOLS], ids=["client", "tools"])
def test_lock_file_names_no_registry(folder):
    assert "resolved" not in (folder / "package-lock.json").read_text()
