"""Programs that the tests of client packages run."""

import os
import subprocess
from pathlib import Path

from config.environment.env import PROJECT

NODE_CLIENT = PROJECT / "clients" / "node"
LONGEST_SECONDS = 600


def run(
    *command: str | Path,
    cwd: Path = NODE_CLIENT,
    body: bytes = b"",
    is_quiet: bool = False,
    **environment: str,
) -> str:
    """Run a program and return what it printed.

    Fail with all of its output if it ends with an error, or if it must be quiet and writes to standard error.
    """
    done = subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | environment,
        input=body,
        capture_output=True,
        check=False,
        timeout=LONGEST_SECONDS,
    )
    printed, errors = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == 0, f"{printed}\n{errors}"
    assert not (is_quiet and errors), errors
    return printed
