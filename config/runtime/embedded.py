"""The whole service in one process: web, worker and schedule on SQLite, without other servers.

gunicorn serves requests with threads. A Celery worker and its schedule run as further threads, with an in-memory
broker. A watchdog restarts them if one ends.
"""

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import structlog
from celery import Celery
from gunicorn.app.base import BaseApplication

log = structlog.get_logger("sluice.embedded")

WEB_THREADS = 8
WORKER_THREADS = 4  # re-query and messages to the account provider use at most two of them
WATCHDOG_INTERVAL = 1.0  # seconds


class EmbeddedServer(BaseApplication):
    """gunicorn with one process that also runs the worker and the schedule."""

    def __init__(self, *, port: int, when_ready: Callable[[], None]) -> None:
        self._port = port
        self._when_ready = when_ready
        super().__init__()

    def load_config(self) -> None:
        for name, value in {
            "bind": f"127.0.0.1:{self._port}",
            "workers": 1,
            "worker_class": "config.runtime.web_worker.WebWorker",
            "threads": WEB_THREADS,
            "keepalive": 30,
            "graceful_timeout": 5,
            "timeout": 60,
            "loglevel": "warning",
            "forwarder_headers": "",
            "control_socket_disable": True,
            "when_ready": lambda _server: self._when_ready(),
            "post_worker_init": lambda _worker: start_background(),
        }.items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Any:
        from config.wsgi import application  # noqa: PLC0415  (in the serving process, after the fork)

        return application


def start_background() -> None:
    """Start worker and schedule as daemon threads, with a watchdog."""
    from webhooks import wake_up  # noqa: PLC0415  (in the serving process, after the fork)

    wake_up.enable_local_worker()
    threading.Thread(target=_watch, args=({"worker": _work, "schedule": _schedule},), daemon=True).start()


def _watch(jobs: dict[str, Callable[[Celery], None]]) -> None:
    from config.celery import app  # noqa: PLC0415  (in the serving process, after the fork)

    threads: dict[str, threading.Thread] = {}
    while True:
        for name, job in jobs.items():
            if name not in threads or not threads[name].is_alive():
                if name in threads:
                    log.warning("restarting", job=name)
                threads[name] = threading.Thread(target=job, args=(app,), name=name, daemon=True)
                threads[name].start()
        time.sleep(WATCHDOG_INTERVAL)


def _work(app: Celery) -> None:
    worker = app.WorkController(
        app=app,
        pool_cls="threads",
        concurrency=WORKER_THREADS,
        prefetch_multiplier=8,
        without_heartbeat=True,
        without_mingle=True,
        without_gossip=True,
        hostname=f"embedded@{os.getpid()}",
        loglevel="WARNING",
    )
    worker.start()


def _schedule(app: Celery) -> None:
    from celery.beat import Scheduler, Service  # noqa: PLC0415

    class InMemoryScheduler(Scheduler):
        """The default scheduler, which keeps its state in memory. All due work is in the database anyway."""

    Service(app, scheduler_cls=InMemoryScheduler, max_interval=1).start(embedded_process=False)
