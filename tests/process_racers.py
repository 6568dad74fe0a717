"""Concurrent calls, each in its own process and with its own database connection (PostgreSQL)."""

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from multiprocessing.synchronize import Barrier
from typing import Any

import django
from django.apps import apps
from django.conf import settings
from django.db import connection
from django.test.utils import setup_test_environment

if not apps.ready:  # in the process from which the others are forked
    django.setup()
    import_module(settings.ROOT_URLCONF)  # and with it the views, once for all of them

PATIENCE = 60  # seconds to wait for the other processes
_line: Barrier


class ProcessRacers:
    """Processes that start each round of calls at the same moment. The calls must be picklable."""

    def __init__(self, count: int, **changed_settings: Any) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
        self._count = count
        self._pool = ProcessPoolExecutor(
            max_workers=count,
            mp_context=context,
            initializer=_begin,
            initargs=(context.Barrier(count), connection.settings_dict["NAME"], changed_settings),
        )

    def race(self, *calls: Callable[[], Any]) -> list[Any]:
        """Make the calls concurrently. Return what each returned.

        :raises Exception: what a call raised
        """
        assert len(calls) == self._count
        return [future.result() for future in [self._pool.submit(_run, call) for call in calls]]

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def _begin(line: Barrier, database: str, changed_settings: dict[str, Any]) -> None:
    global _line  # noqa: PLW0603
    _line = line
    setup_test_environment()
    connection.settings_dict["NAME"] = database
    for name, value in changed_settings.items():
        setattr(settings, name, value)


def _run(call: Callable[[], Any]) -> Any:
    _line.wait(PATIENCE)  # each process takes one of the calls
    return call()


@contextmanager
def process_racers(count: int, **changed_settings: Any) -> Iterator[ProcessRacers]:
    started = ProcessRacers(count, **changed_settings)
    try:
        yield started
    finally:
        started.close()
