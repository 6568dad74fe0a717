"""The doorbell: somebody should look for due deliveries now.

Ringing never fails and never waits: a thread of the process does it, many rings at once become one, and a
broker that is away is no reason to hold up a payment. The sweep, every second, finds what no ring announced.
"""

import threading
import time

import structlog
from django.conf import settings

log = structlog.get_logger("sluice.webhooks")

PAUSE = 0.01  # seconds between two rings of one process
BROKEN_PAUSE = 1.0  # seconds, after a ring that nobody took

_is_heard_here = False
_wanted = threading.Event()
_lock = threading.Lock()
_ringer: threading.Thread | None = None


def hear_here() -> None:
    """Say that a worker listens in this very process, so that rings over the in-memory broker are heard."""
    global _is_heard_here  # noqa: PLW0603  (a fact about the process)
    _is_heard_here = True


def ring() -> None:
    """Ask for a drain, soon and once."""
    if not (settings.REDIS_URL or _is_heard_here):
        return  # nobody would ever take the message
    global _ringer  # noqa: PLW0603  (one thread for the process, and another one after a fork)
    _wanted.set()
    if _ringer is None or not _ringer.is_alive():
        with _lock:
            if _ringer is None or not _ringer.is_alive():
                _ringer = threading.Thread(target=_ring_when_wanted, name="bell", daemon=True)
                _ringer.start()


def _ring_when_wanted() -> None:
    from celery import current_app  # noqa: PLC0415  (a process that only sends never rings, and does without)

    while True:
        _wanted.wait()
        _wanted.clear()
        try:
            current_app.send_task("webhooks.dispatcher", retry=False, expires=10)
        except Exception as error:  # noqa: BLE001  (whatever the broker's trouble is, the sweep comes)
            log.warning("the doorbell is broken", error=type(error).__name__)
            time.sleep(BROKEN_PAUSE)
        time.sleep(PAUSE)
