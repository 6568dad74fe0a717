"""Progress of long work, for whoever watches a terminal."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")

INTERVAL = 1.0  # seconds between two lines


class Writable(Protocol):
    def write(self, text: str) -> object: ...


def show_progress(
    work: Iterable[T],
    *,
    total: int | None,
    stream: Writable,
    size: Callable[[T], int] = lambda _: 1,
    what: str = "",
) -> Iterator[T]:
    """Pass the work's results on; once a second, say how far it is. `size` tells how much a result is.

    `total` is None where counting it would be long work by itself; `what` says of what.
    """
    last, done = time.monotonic(), 0
    for result in work:
        done += size(result)
        yield result
        if time.monotonic() - last >= INTERVAL:
            last = time.monotonic()
            goal = "" if total is None else f" of {total:,}"
            stream.write(f"{done:,}{goal}{f' {what}' if what else ''} done")
