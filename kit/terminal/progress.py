"""Progress of long-running work on a terminal."""

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
    """Yield the results of `work` and print the progress once a second.

    `size` returns how much a result counts, `total` is None if unknown, and `what` names the unit.
    """
    last, done = time.monotonic(), 0
    for result in work:
        done += size(result)
        yield result
        if time.monotonic() - last >= INTERVAL:
            last = time.monotonic()
            goal = "" if total is None else f" of {total:,}"
            stream.write(f"{done:,}{goal}{f' {what}' if what else ''} done")
