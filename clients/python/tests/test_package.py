import json
import subprocess
import sys
from pathlib import Path

import tomllib
from django.conf import settings

import sluice

CLIENT = Path(__file__, "../..").resolve()


PROJECT = CLIENT.parents[1]
MOST_LINES = 2050  # not blank, without the generated models and the command-line tool


def test_has_the_version_of_the_service():
    service = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    node = json.loads((PROJECT / "clients" / "node" / "package.json").read_text())["version"]

    assert sluice.__version__ == service == settings.SPECTACULAR_SETTINGS["VERSION"] == node


def test_stays_within_its_budget_of_lines():
    files = [file for file in (CLIENT / "src" / "sluice").glob("*.py") if file.name != "_models.py"]
    lines = [line for file in files for line in file.read_text().splitlines() if line.strip()]

    assert len(lines) <= MOST_LINES


def test_needs_no_other_package():
    assert tomllib.loads((CLIENT / "pyproject.toml").read_text())["project"]["dependencies"] == []

    modules = sorted(
        ".".join(file.relative_to(CLIENT / "src").with_suffix("").parts)
        for file in (CLIENT / "src").rglob("*.py")
        if file.stem not in ("__init__", "__main__")
    )
    program = f"import sys; sys.path.insert(0, {str(CLIENT / 'src')!r}); import {', '.join(modules)}"
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True)  # without installed packages


def test_imports_neither_http_nor_models_for_receivers():
    program = "import sys, sluice; sys.exit('ssl' in sys.modules or 'sluice._models' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=CLIENT / "src")
