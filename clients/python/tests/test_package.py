from pathlib import Path

import tomllib

import sluice

CLIENT = Path(__file__, "../..").resolve()


def _version_of(folder):
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]["version"]


def test_has_the_version_of_the_service():
    assert sluice.__version__ == _version_of(CLIENT) == _version_of(CLIENT.parents[1])


def test_needs_no_other_package():
    assert tomllib.loads((CLIENT / "pyproject.toml").read_text())["project"]["dependencies"] == []
