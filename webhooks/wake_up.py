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

_has_local_worker = threading.Event()


def enable_local_worker() -> None:
    """Declare that a worker runs in this process, so that messages over the in-memory broker reach it."""
    _has_local_worker.set()


def notify() -> None:
    """Ask a worker to dispatch due deliveries now. Repeated calls are coalesced."""
    _request(_deliveries)


def notify_exams() -> None:
    """Ask a worker to run the exams that wait."""
    _request(_exams)


def _request(signal: "_Signal") -> None:
    if settings.REDIS_URL or _has_local_worker.is_set():  # otherwise no worker can receive the message
        signal.request()


class _Signal:
    """Sends a message from a thread of its own, which is started again after a fork."""

    def __init__(self, task: str) -> None:
        self._task = task
        self._requested = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def request(self) -> None:
        self._requested.set()
        if not self._is_running():
            with self._lock:
                if not self._is_running():
                    self._thread = threading.Thread(
                        target=self._send_when_requested, name="webhook-wake-up", daemon=True
                    )
                    self._thread.start()

    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _send_when_requested(self) -> None:
        from celery import current_app  # noqa: PLC0415  (a process that only sends webhooks never needs it)

        while True:
            self._requested.wait()
            self._requested.clear()
            try:
                current_app.send_task(self._task, retry=False, expires=10)
            except Exception as error:  # noqa: BLE001  (polling covers every broker failure)
                log.warning("wake-up signal could not be sent", error=type(error).__name__)
                time.sleep(BROKEN_PAUSE)
            time.sleep(PAUSE)


_deliveries = _Signal("webhooks.dispatcher")
_exams = _Signal("webhooks.run_exams")
