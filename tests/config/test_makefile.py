"""The Makefile installs with the interpreter itself, on which uv keeps the environment it has made."""

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]


class TestInterpreter:
    def test_is_the_one_behind_a_version_managers_shim(self, tmp_path):
        shim = tmp_path / "python3"
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        shim.chmod(0o755)
        assert interpreter(f"PYTHON={shim}") == Path(sys._base_executable)

    def test_is_not_the_one_of_an_active_environment(self):
        assert interpreter(f"PYTHON={sys.executable}") == Path(sys._base_executable)

    def test_is_the_given_one_also_inside_another_make(self):
        assert interpreter(f"PYTHON={sys.executable}", UV_PYTHON="/usr/bin/false") == Path(
            sys._base_executable
        )

    def test_is_otherwise_that_of_the_environment(self):
        assert interpreter(UV_PYTHON="/usr/bin/false") == Path("/usr/bin/false")


def interpreter(*arguments: str, **variables: str) -> Path:
    command = ["make", "--eval", "print-interpreter: ; @echo $(UV_PYTHON)", "print-interpreter", *arguments]
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin"} | variables
    answer = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True)
    return Path(answer.stdout.strip())
