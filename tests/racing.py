"""Calls that happen at the same moment, each in a thread and on a database connection of its own."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from django.db import connections


class Racers:
    """A few threads that start together, round after round."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._line = threading.Barrier(count, timeout=60)
        self._pool = ThreadPoolExecutor(max_workers=count)

    def race(self, *calls: Callable[[], Any]) -> list[Any]:
        """Make the calls at once; return what each returned, or raised."""
        assert len(calls) == self._count
        return [future.result() for future in [self._pool.submit(self._run, call) for call in calls]]

    def close(self) -> None:
        self.race(*[connections.close_all] * self._count)
        self._pool.shutdown()

    def _run(self, call: Callable[[], Any]) -> Any:
        self._line.wait()
        try:
            return call()
        except Exception as raised:
            return raised


@contextmanager
def racers(count: int) -> Iterator[Racers]:
    started = Racers(count)
    try:
        yield started
    finally:
        started.close()
