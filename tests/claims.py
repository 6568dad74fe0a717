"""Files and numbers of test processes that no other process on this host may use, such as one of an interrupted run."""

import fcntl
from collections.abc import Iterable
from pathlib import Path
from typing import IO

_claims: list[IO[str]] = []  # open as long as this process runs


def first_free(locks: Iterable[Path]) -> int:
    """Lock the first of these files that no other process has locked, and return its position."""
    for position, path in enumerate(locks):
        lock = path.open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        _claims.append(lock)
        return position
    raise RuntimeError("Other test processes have claimed them all. End those that were left behind.")
