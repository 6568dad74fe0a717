"""The sweep: look each second whether something is due that no ring announced, and have it sent.

It lives in every worker process beside the tasks, and asks the database, not the broker: a worker that
has lost its broker, or that nobody rings, goes on sending. Any number of sweeps may run; claiming decides.
"""

import threading
from collections.abc import Iterator
from typing import Any

import structlog
from celery import bootsteps
from celery.signals import worker_shutting_down
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from webhooks import claiming
from webhooks import drain as drains

log = structlog.get_logger("sluice.webhooks")

INTERVAL = 1.0  # seconds between two looks


def sweep(stopped: threading.Event, *, linger: float = 0) -> Iterator[int]:
    """Send what is due until told to stop; yield after each look how many attempts were made.

    A look that finds nothing costs one query.
    """
    try:
        while not stopped.is_set():
            yield _look(stopped, linger)
            stopped.wait(INTERVAL)
    finally:
        connection.close()


def _look(stopped: threading.Event, linger: float) -> int:
    try:
        is_due = claiming.has_work(at=timezone.now())
        return drains.drain_once(linger=linger, stopped=stopped) if is_due else 0
    except (InterfaceError, OperationalError) as error:
        log.warning("the sweep cannot reach the database", error=type(error).__name__)
        connection.close()
        return 0


class Sweep(bootsteps.StartStopStep):
    """The sweep as a part of a Celery worker: a thread, up before the worker looks for its broker."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sweep", daemon=True)

    def start(self, _parent: Any) -> None:
        worker_shutting_down.connect(self._close)
        self._thread.start()

    def stop(self, _parent: Any) -> None:
        """End when what is under way is finished."""
        self._close()
        self._thread.join()

    def terminate(self, _parent: Any) -> None:
        self._close()

    def _close(self, **_: Any) -> None:
        self._stopped.set()
        drains.stop_gracefully()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                for _ in sweep(self._stopped, linger=drains.LINGER):
                    pass
            except Exception:  # a drain that failed is no reason to leave what is due to nobody
                log.exception("the sweep failed, and begins again")
                self._stopped.wait(INTERVAL)
