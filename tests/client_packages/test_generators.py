"""What generators make of the OpenAPI document: without a warning, fully typed, and right against a live sandbox."""

import base64
import json
import shutil
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from config.environment.env import PROJECT
from tests.client_packages.programs import run

pytestmark = pytest.mark.clients

PROGRAMS = PROJECT / "tests" / "client_packages" / "generated"
SAMPLES = PROJECT / "docs" / "samples" / "signing"
SEEN = {
    "payment": ["success", "10000"],
    "decline": ["failed", "20051"],
    "fields": ["amount"],
    "duplicate": ["duplicate_reference", "success"],
    "conflict": [409, "invalid_state"],
    "pages": ["-declined", ""],
}
VECTORS = json.loads((PROJECT / "tests" / "data" / "signing_vectors.json").read_text())
IMPORT_ALL = """
import importlib, pkgutil, sluice_generated
for module in pkgutil.walk_packages(sluice_generated.__path__, "sluice_generated."):
    importlib.import_module(module.name)
"""
STRICT = [
    *("--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes"),
    *("--target", "es2022", "--module", "nodenext", "--types", "node"),
]
FILES = ("/api/disputes/{id}/files", "/api/disputes/{id}/files/{item}")


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    target = tmp_path_factory.mktemp("document") / "openapi.json"
    call_command("spectacular", format="openapi-json", file=str(target))
    return target


@pytest.fixture(scope="module")
def account(service):
    """The variables that name the sandbox and its keys."""
    keys = service.credentials
    return {
        "SLUICE_BASE_URL": service.base_url,
        "SLUICE_API_KEY": keys.api_key,
        "SLUICE_SECRET_KEY": keys.secret_key,
    }


@pytest.fixture(scope="module")
def python(document, tmp_path_factory):
    """A folder with the generated package, the sample that signs, and the program that uses both."""
    folder = tmp_path_factory.mktemp("python")
    (folder / "generator.yml").write_text("post_hooks: []\n")  # formatting it proves nothing
    described = json.loads(document.read_text())
    for path in FILES:  # the generator can't send or read bodies of several types
        del described["paths"][path]
    (folder / "openapi.json").write_text(json.dumps(described))
    run(
        *(Path(sys.executable).with_name("openapi-python-client"), "generate", "--fail-on-warning"),
        *("--path", folder / "openapi.json", "--config", "generator.yml", "--meta", "none"),
        *("--output-path", "sluice_generated"),
        cwd=folder,
        is_quiet=True,
    )
    shutil.copy(SAMPLES / "sign_httpx.py", folder)
    shutil.copy(PROGRAMS / "program.py", folder)
    return folder


def test_every_python_module_can_be_imported(python):
    run(sys.executable, "-c", IMPORT_ALL, cwd=python)


def test_python_is_clean_under_mypy_strict(python):
    run(
        *(sys.executable, "-m", "mypy", "--strict", "--config-file="),
        *("-p", "sluice_generated", "-m", "program", "-m", "sign_httpx"),
        cwd=python,
    )


def test_python_works_against_a_live_sandbox(python, account):
    assert json.loads(run(sys.executable, "program.py", cwd=python, **account)) == SEEN


@pytest.fixture(scope="module")
def typescript(document, tools, tmp_path_factory):
    """A folder with the generated types, the sample that signs, and the program that uses both, compiled."""
    folder = tmp_path_factory.mktemp("typescript")
    run(tools / "openapi-typescript", document, "-o", "schema.d.ts", cwd=folder, is_quiet=True)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "node_modules").symlink_to(tools.parent)
    shutil.copy(SAMPLES / "sign_fetch.ts", folder)
    shutil.copy(PROGRAMS / "program.ts", folder)
    run(tools / "tsc", *STRICT, "schema.d.ts", "program.ts", cwd=folder)
    return folder


def test_typescript_is_strict_and_works_against_a_live_sandbox(typescript, account):
    assert json.loads(run("node", "program.js", cwd=typescript, **account)) == SEEN


@pytest.mark.parametrize("vector", VECTORS["requests"], ids=lambda vector: vector["name"])
def test_samples_sign_like_the_vectors(python, typescript, vector):
    given = {
        "body": base64.b64decode(vector["body_base64"]),
        "SLUICE_API_KEY": VECTORS["api_key"],
        "SLUICE_SECRET_KEY": VECTORS["secret_key"],
        "SLUICE_TIMESTAMP": vector["timestamp"],
        "SLUICE_NONCE": vector["nonce"],
    }
    request = (vector["method"], vector["target"])
    expected = [VECTORS["api_key"], vector["timestamp"], vector["nonce"], vector["signature"]]

    with_httpx = run(sys.executable, "sign_httpx.py", *request, cwd=python, **given)
    with_fetch = run("node", "sign_fetch.js", *request, cwd=typescript, **given)

    for printed in (with_httpx, with_fetch):
        assert [line.partition(": ")[2] for line in printed.splitlines()] == expected
