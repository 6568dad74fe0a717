"""The examples in docstrings show what the code returns."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
CLIENT = PROJECT / "clients/python/src"
EXAMPLE = re.compile(r"\n +>>> ")


def with_examples():
    """Return the names of our modules with examples."""
    folders = [
        *(each.parent for each in PROJECT.glob("*/__init__.py")),
        PROJECT / "tests",
        PROJECT / "clients/python",
    ]
    paths = [each for folder in folders for each in folder.rglob("*.py") if EXAMPLE.search(each.read_text())]
    names = [
        each.relative_to(CLIENT if CLIENT in each.parents else PROJECT).with_suffix("") for each in paths
    ]
    return sorted(".".join(each.parts) for each in names)


@pytest.mark.parametrize("name", with_examples())
def test_examples_are_true(name):
    assert doctest.testmod(import_module(name)).failed == 0
