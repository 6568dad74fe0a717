"""The version of this release. It stands in `pyproject.toml` only."""

import tomllib
from pathlib import Path

_PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
VERSION: str = tomllib.loads(_PROJECT.read_text())["project"]["version"]
