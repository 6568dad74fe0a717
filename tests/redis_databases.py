"""Redis databases of test processes. Each clears its own, and shares rate limits of simulated providers with no other one."""

import fcntl
import tempfile
from pathlib import Path
from typing import IO

DATABASES = 16  # Redis has so many by default

_claims: list[IO[str]] = []  # open as long as this process runs


def claim(*, above: int) -> int:
    """Return the number of a database that no other test process of this host uses, the next one above a number."""
    for number in [*range(above + 1, DATABASES), *range(1, above)]:
        lock = Path(tempfile.gettempdir(), f"sluice-tests-redis-{number}.lock").open("w")  # noqa: SIM115  (kept open)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        _claims.append(lock)
        return number
    raise RuntimeError("Other test processes use all databases of Redis.")
