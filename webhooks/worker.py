"""Polling for due deliveries as a step of every Celery worker."""

import threading
from typing import Any

import structlog
from celery import bootsteps
from celery.signals import worker_shutting_down

from kit import garbage_collection
from webhooks import dispatcher
from webhooks.poll import INTERVAL, poll_due

log = structlog.get_logger("sluice.webhooks")


class Poller(bootsteps.StartStopStep):
    """A thread beside the tasks. It starts before the worker connects to its broker."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="webhook-poll", daemon=True)

    def start(self, _parent: Any) -> None:
        worker_shutting_down.connect(self._close)
        garbage_collection.collect_less_often()
        self._thread.start()

    def stop(self, _parent: Any) -> None:
        """Stop after the requests in flight have finished."""
        self._close()
        self._thread.join()

    def terminate(self, _parent: Any) -> None:
        self._close()

    def _close(self, **_: Any) -> None:
        self._stopped.set()
        dispatcher.stop_gracefully()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                for _ in poll_due(self._stopped, linger=dispatcher.LINGER):
                    pass
            except Exception:  # one failed dispatcher must not stop delivery
                log.exception("polling failed and starts again")
                self._stopped.wait(INTERVAL)
