"""The sweep as a part of every Celery worker."""

import threading
from typing import Any

import structlog
from celery import bootsteps
from celery.signals import worker_shutting_down

from webhooks import dispatcher as drains
from webhooks.poll import INTERVAL, sweep

log = structlog.get_logger("sluice.webhooks")


class Sweep(bootsteps.StartStopStep):
    """A thread beside the tasks, up before the worker looks for its broker."""

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
