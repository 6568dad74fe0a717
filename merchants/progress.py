"""Progress of long work, for whoever watches a terminal."""

import time
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")

INTERVAL = 1.0  # seconds between two lines


class Writable(Protocol):
    def write(self, text: str) -> object: ...


def show_progress(work: Iterable[T], *, total: int, stream: Writable) -> Iterator[T]:
    """Pass the work's results on; once a second, say how far it is."""
    last = time.monotonic()
    for done, result in enumerate(work, start=1):
        yield result
        if time.monotonic() - last >= INTERVAL:
            last = time.monotonic()
            stream.write(f"{done:,} of {total:,} done")
