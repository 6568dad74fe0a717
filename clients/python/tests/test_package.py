import subprocess
import sys
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
