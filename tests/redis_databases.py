"""Redis databases of test processes. Each clears its own, and shares rate limits of simulated providers with no other one."""

import tempfile
from pathlib import Path

from tests.claims import first_free

DATABASES = 16  # Redis has so many by default


def claim(*, above: int) -> int:
    """Return the number of a database that no other test process of this host uses, the next one above a number."""
    numbers = [*range(above + 1, DATABASES), *range(1, above)]
    return numbers[
        first_free(Path(tempfile.gettempdir(), f"sluice-tests-redis-{number}.lock") for number in numbers)
    ]
