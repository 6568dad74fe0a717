"""Poll for due deliveries every second, in case a wake-up signal was lost, and dispatch them.

Polling runs in every worker process beside the tasks. It queries the database, not the broker, so a worker
without its broker keeps sending. Any number of workers may poll: leases prevent double sending.
"""

import threading
from collections.abc import Iterator

import structlog
from django.db import InterfaceError, OperationalError, connection

from kit.db import clock
from webhooks import dispatcher, leases

log = structlog.get_logger("sluice.webhooks")

INTERVAL = 1.0  # seconds between two polls


def poll_due(stopped: threading.Event, *, linger: float = 0) -> Iterator[int]:
    """Dispatch due deliveries until `stopped` is set; yield the number of attempts after each poll.

    A poll that finds nothing costs one query.
    """
    try:
        while not stopped.is_set():
            yield _poll_once(stopped, linger)
            stopped.wait(INTERVAL)
    finally:
        connection.close()


def _poll_once(stopped: threading.Event, linger: float) -> int:
    try:
        is_due = leases.has_work(at=clock.now())
        return dispatcher.dispatch_due(linger=linger, stopped=stopped) if is_due else 0
    except (InterfaceError, OperationalError) as error:
        log.warning("polling cannot reach the database", error=type(error).__name__)
        connection.close()
        return 0
