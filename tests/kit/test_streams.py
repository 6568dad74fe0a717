"""The outcome decides the exit code of manage.py, whatever becomes of its output."""

import os
import subprocess
import sys

import pytest

from tests import database_copies
from tests.journeys.service import PROJECT

pytestmark = pytest.mark.xdist_group("streams")  # one folder for all

LOST = "The output could not be written: No space left on device. The exit code is that of the command.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A migrated sandbox, in a folder with a blank, with a business whose name isn't ASCII."""
    folder = tmp_path_factory.mktemp("a b")
    if not database_copies.copy_to(folder / "db.sqlite3"):
        assert run(folder, "migrate").returncode == 0
    opened = run(folder, "create_business --name Ọláídé --email ola@example.com")
    assert opened.returncode == 0, opened.stderr
    return folder


def run(folder, command, *, shell="", **environment):
    return subprocess.run(
        ["bash", "-c", f'"{sys.executable}" manage.py {command} {shell}'],
        cwd=PROJECT,
        env={"PATH": os.environ["PATH"], "SANDBOX_DATA": str(folder), **environment},
        capture_output=True,
        check=False,
        timeout=120,
    )


def test_prints_in_an_encoding_without_the_letters_of_a_name(folder):
    done = run(folder, "list_businesses", PYTHONIOENCODING="ascii")

    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u1ecc" in done.stdout


@pytest.mark.parametrize(
    ("command", "shell", "code"),
    [
        ("list_businesses", ">/dev/full", 0),
        ("list_businesses", ">&-", 0),
        ("list_businesses", "| true; exit ${PIPESTATUS[0]}", 0),
        ("list_businesses --unknown", ">/dev/full 2>/dev/full", 2),
    ],
)
def test_keeps_the_outcome_if_the_output_is_lost(folder, command, shell, code):
    done = run(folder, command, shell=shell)

    assert done.returncode == code
    assert done.stderr.decode() == (LOST if shell == ">/dev/full" else "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_shows_progress_at_once_as_python_would(tmp_path, unbuffered):
    program = "from kit.terminal.streams import prepare_outputs; import sys; prepare_outputs(); print('at once', file=sys.stderr, flush=False); print(open(sys.argv[1]).read())"
    said = tmp_path / "said"
    with said.open("w") as stderr:
        done = subprocess.run(
            [sys.executable, "-c", program, str(said)],
            cwd=PROJECT,
            env={"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": unbuffered},
            stdout=subprocess.PIPE,
            stderr=stderr,
            check=True,
        )

    assert done.stdout.decode().strip() == "at once"
