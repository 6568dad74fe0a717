"""Configuration of gunicorn in production: `gunicorn -c config/runtime/gunicorn.py config.wsgi`.

Sizes come from the environment; see `.env.example`. Every start creates a new folder for the metrics of its processes,
so that counters start at zero.
"""

import atexit
import os
import shutil
import sys
import tempfile
from typing import Any

from config.environment import env, variable_names

metrics_folder = tempfile.mkdtemp(prefix="sluice-metrics-")
os.environ["PROMETHEUS_MULTIPROC_DIR"] = metrics_folder
_master = os.getpid()

bind = env.text("WEB_BIND", default="127.0.0.1:8000")
workers = env.number("WEB_WORKERS", default=2, minimum=1)
threads = env.number("WEB_THREADS", default=4, minimum=1)
worker_class = "config.runtime.server_errors.ProblemWorker"
# The processes share the application's memory, one that died is replaced at once, and wrong settings stop the master
# instead of restarting its processes for ever.
preload_app = True
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: PTH112, S108  (heartbeats in memory)
keepalive = 30  # seconds; longer than the proxy's, so that the proxy closes first
timeout = 60  # seconds without a heartbeat after which a process is replaced
graceful_timeout = 30  # seconds to finish requests when it is stopped
max_requests = 0
limit_request_line = 8190
limit_request_fields = 100
limit_request_field_size = 8190
loglevel = "warning"
forwarder_headers = ""  # no header may set SCRIPT_NAME, which would serve one path as another
control_socket_disable = True


def when_ready(_server: Any) -> None:
    """Report misspelt variables, and leave the application's objects to no collector, which would copy them into each
    process.
    """
    from kit.garbage_collection import collect_less_often  # noqa: PLC0415  (after the settings were read)

    print(*variable_names.misspelt(), sep="\n", end="", file=sys.stderr)  # noqa: T201
    collect_less_often()


def post_worker_init(worker: Any) -> None:
    """Prepare a process that serves requests."""
    from merchants.api.request_log import request_log  # noqa: PLC0415  (after the settings were read)
    from webhooks.listeners.listener_waits import waits  # noqa: PLC0415

    request_log.start()
    waits.allow(worker.cfg.threads)


def child_exit(_server: Any, worker: Any) -> None:
    """Drop the gauges of a process that has ended. Its counters are kept."""
    from prometheus_client import multiprocess  # noqa: PLC0415  (the import reads the folder's name)

    multiprocess.mark_process_dead(worker.pid, metrics_folder)


def _remove_folder() -> None:
    if os.getpid() == _master:
        shutil.rmtree(metrics_folder, ignore_errors=True)


atexit.register(_remove_folder)
