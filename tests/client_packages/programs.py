"""Programs that the tests of client packages run."""

import os
import subprocess
from pathlib import Path

from config.env import PROJECT

NODE_CLIENT = PROJECT / "clients" / "node"
LONGEST_SECONDS = 170


def run(*command: str | Path, cwd: Path = NODE_CLIENT, **environment: str) -> str:
    """Run a program and return what it printed. Fail with all of its output if it ends with an error."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_SECONDS,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
