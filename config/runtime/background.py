"""Threads of a worker beside Celery's tasks: webhooks, and the work that is looked for every second.

They need no messages, so they continue without Redis and beat. Any number of workers may run the same work: it takes
its rows with locks, leases or conditional updates.
"""

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import structlog
from celery import Celery, bootsteps
from celery.signals import worker_shutting_down
from django.db import connection

from config.celery import FREQUENT, Job
from kit.garbage_collection import collect_less_often
from webhooks.sending import dispatcher

log = structlog.get_logger("sluice.background")


def start(app: Celery, jobs: Iterable[Job], stopped: threading.Event) -> list[threading.Thread]:
    """Start a thread that sends webhooks and one for each job, until `stopped` is set."""
    collect_less_often()
    threads = [threading.Thread(target=dispatcher.send_due, args=(stopped,), name="webhooks", daemon=True)]
    for job in jobs:
        run = partial(repeat, app.tasks[job.task], every=job.seconds, stopped=stopped)
        threads.append(threading.Thread(target=run, name=job.task, daemon=True))
    for thread in threads:
        thread.start()
    return threads


def repeat(work: Callable[[], object], *, every: float, stopped: threading.Event) -> None:
    """Call a function every so many seconds. The thread keeps its database connection until an error."""
    while not stopped.wait(every):
        try:
            work()
        except Exception:  # the next run may succeed
            log.exception("scheduled work failed", work=getattr(work, "name", str(work)))
            connection.close()
    connection.close()


class Background(bootsteps.StartStopStep):
    """The threads as a step of every Celery worker. They start before it connects to its broker."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, parent: Any) -> None:
        worker_shutting_down.connect(self._close)
        queues = parent.app.amqp.queues.consume_from
        self._threads = start(parent.app, [job for job in FREQUENT if job.queue in queues], self._stopped)

    def stop(self, _parent: Any) -> None:
        """Stop after the requests in flight and the work that runs."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def terminate(self, _parent: Any) -> None:
        self._stopped.set()

    def _close(self, **_: Any) -> None:
        self._stopped.set()
