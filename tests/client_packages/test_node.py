"""The Node client: built, tested, packed, installed and used."""

import json

import pytest
from django.core.management import call_command

from config.env import PROJECT
from tests.client_packages.programs import NODE_CLIENT, run
from tests.cutting_proxy import CuttingProxy

pytestmark = pytest.mark.clients

TOOLS = PROJECT / "tests" / "client_packages"
LARGEST_PACKAGE = 60 * 1024  # bytes


@pytest.fixture(scope="module")
def package(npm, node_client, tmp_path_factory):
    """The packed client, as it would be published."""
    folder = tmp_path_factory.mktemp("package")
    run(npm, "run", "build")
    (packed,) = json.loads(run(npm, "pack", "--json", "--pack-destination", str(folder)))
    return folder / packed["filename"]


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


def test_package_is_small_and_works_in_an_empty_project(npm, package, service, tmp_path):
    assert package.stat().st_size <= LARGEST_PACKAGE
    (tmp_path / "package.json").write_text('{"type": "module"}')
    run(npm, "install", "--no-audit", "--no-fund", "--offline", str(package), cwd=tmp_path)
    program = (
        'import { Sluice } from "sluice-client"; import { event } from "sluice-client/testing";'
        f"const client = Sluice.fromSandbox({json.dumps(str(service.folder))});"
        'const played = await client.sandbox.play("payment.3ds.approved");'
        "console.log(played.status, event().length > 0);"
    )

    assert run("node", "--input-type=module", "--eval", program, cwd=tmp_path).strip() == "success true"
    lock = json.loads((tmp_path / "package-lock.json").read_text())
    assert [name for name in lock["packages"] if name] == ["node_modules/sluice-client"]


def test_has_the_version_of_the_service(node_client):
    version = json.loads((NODE_CLIENT / "package.json").read_text())["version"]

    assert f'VERSION = "{version}"' in (NODE_CLIENT / "src" / "version.ts").read_text()
    assert f'version = "{version}"' in (PROJECT / "pyproject.toml").read_text()


@pytest.mark.parametrize("folder", [NODE_CLIENT, TOOLS], ids=["client", "tools"])
def test_lock_file_names_no_registry(folder):
    assert "resolved" not in (folder / "package-lock.json").read_text()
