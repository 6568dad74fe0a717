"""Wake-up signal for webhook workers: an event has just been published.

`notify` never fails and never blocks. A background thread sends the task, many signals become one message, and
an unavailable broker does not delay a payment. Workers also poll every second, so a lost signal costs at most
that.
"""

import threading
import time

import structlog
from django.conf import settings

log = structlog.get_logger("sluice.webhooks")

PAUSE = 0.01  # seconds between two messages of one process
BROKEN_PAUSE = 1.0  # seconds after a message that could not be sent

_has_local_worker = False
_requested = threading.Event()
_lock = threading.Lock()
_thread: threading.Thread | None = None


def enable_local_worker() -> None:
    """Declare that a worker runs in this process, so that messages over the in-memory broker reach it."""
    global _has_local_worker  # noqa: PLW0603  (per-process state)
    _has_local_worker = True


def notify() -> None:
    """Ask a worker to dispatch due deliveries now. Repeated calls are coalesced."""
    if not (settings.REDIS_URL or _has_local_worker):
        return  # no worker can receive the message
    global _thread  # noqa: PLW0603  (one thread per process, started again after a fork)
    _requested.set()
    if _thread is None or not _thread.is_alive():
        with _lock:
            if _thread is None or not _thread.is_alive():
                _thread = threading.Thread(target=_send_when_requested, name="webhook-wake-up", daemon=True)
                _thread.start()


def _send_when_requested() -> None:
    from celery import current_app  # noqa: PLC0415  (a process that only sends webhooks never needs it)

    while True:
        _requested.wait()
        _requested.clear()
        try:
            current_app.send_task("webhooks.dispatcher", retry=False, expires=10)
        except Exception as error:  # noqa: BLE001  (polling covers every broker failure)
            log.warning("wake-up signal could not be sent", error=type(error).__name__)
            time.sleep(BROKEN_PAUSE)
        time.sleep(PAUSE)
