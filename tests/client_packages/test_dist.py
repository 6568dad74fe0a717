"""`make client-dist`: both packages, built, installed and used, and not released without a licence."""

import contextlib
import importlib.util
import json
import sys
from pathlib import Path

import pytest

from config.environment.env import PROJECT
from tests.client_packages.programs import run

SCRIPT = PROJECT / "clients" / "client_dist.py"


@pytest.fixture
def script(monkeypatch):
    """The script, whose packages are not built."""
    spec = importlib.util.spec_from_file_location("client_dist", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "_twice", lambda *_: [Path("a.whl"), Path("a.tgz")])
    monkeypatch.setattr(module, "_sandbox", lambda _: contextlib.nullcontext(Path()))
    monkeypatch.setattr(module, "_use_in_python", lambda *_: None)
    monkeypatch.setattr(module, "_use_in_node", lambda *_: None)
    return module


@pytest.mark.clients
def test_builds_both_packages_twice_and_uses_each_in_an_empty_project(npm, node_client, service):
    printed = run(sys.executable, SCRIPT, "--without-licence", "--sandbox", service.folder, cwd=PROJECT)

    files = [Path(line.split("  ")[2]) for line in printed.splitlines()]
    assert [(file.suffix, file.is_file()) for file in files] == [
        (".whl", True),
        (".gz", True),
        (".tgz", True),
    ]


def test_refuses_a_release_without_a_licence(script, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["client_dist.py"])
    assert script.main() == 1
    refusal = capsys.readouterr().err
    assert "must not be released yet. To do: decide the licence and" in refusal
    assert (
        f"use those in {PROJECT / 'build' / 'client-dist-unlicensed'}: make client-dist ARGS=--without"
        in refusal
    )

    monkeypatch.setattr("sys.argv", ["client_dist.py", "--without-licence"])
    assert script.main() == 0


@pytest.mark.parametrize(
    ("python", "node", "addresses", "file", "missing"),
    [
        ("MIT", "MIT", "https://pay.test/", "LICENSE", []),
        ("MIT", "MIT", "https://pay.test/", "README", ["add the licence file"]),
        ("MIT", "Apache-2.0", "https://pay.test/", "LICENCE.md", ["name the same licence in both packages"]),
        ("MIT", "LicenseRef-Undecided", "https://pay.test/", "LICENSE", ["decide the licence and replace"]),
        ("MIT", "MIT", "https://sluice.example/", "LICENSE", ["replace the project's addresses"]),
    ],
)
def test_names_what_is_to_be_done(script, monkeypatch, tmp_path, python, node, addresses, file, missing):  # noqa: PLR0917
    (tmp_path / file).touch()
    urls = f'[project]\nlicense = "{python}"\n[project.urls]\nSource = "{addresses}"\n'
    (tmp_path / "pyproject.toml").write_text(urls)
    package = {
        "license": node,
        "homepage": addresses,
        "repository": {"url": addresses},
        "bugs": {"url": addresses},
    }
    (tmp_path / "package.json").write_text(json.dumps(package))
    for name in ("PROJECT", "PYTHON", "NODE"):
        monkeypatch.setattr(script, name, tmp_path)

    found = script._placeholders()

    assert len(found) == len(missing)
    assert all(text.startswith(wanted) for text, wanted in zip(found, missing, strict=True))


def test_fails_if_the_node_package_lacks_the_types_of_the_schema(script, tmp_path):
    with pytest.raises(script.Failed, match=r"no dist/schema\.d\.ts"):
        script._compile_typescript(tmp_path)


def test_fails_if_two_builds_differ_or_a_package_is_too_large(tmp_path):
    spec = importlib.util.spec_from_file_location("client_dist", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sizes = iter([1, 2, 200_000, 200_000])

    def build(folder):
        (folder / "sluice.whl").write_bytes(b"x" * next(sizes))

    with pytest.raises(module.Failed, match="Two builds differ"):
        list(module._twice(build, tmp_path))
    with pytest.raises(module.Failed, match="200000 bytes, more than 153600"):
        list(module._twice(build, tmp_path))
