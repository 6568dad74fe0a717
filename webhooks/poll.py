"""The sweep: look each second whether something is due that no ring announced, and have it sent.

It lives in every worker process beside the tasks, and asks the database, not the broker: a worker that
has lost its broker, or that nobody rings, goes on sending. Any number of sweeps may run; claiming decides.
"""

import threading
from collections.abc import Iterator

import structlog
from django.db import InterfaceError, OperationalError, connection

from kit.db import clock
from webhooks import dispatcher as drains
from webhooks import leases

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
        is_due = leases.has_work(at=clock.now())
        return drains.drain_once(linger=linger, stopped=stopped) if is_due else 0
    except (InterfaceError, OperationalError) as error:
        log.warning("the sweep cannot reach the database", error=type(error).__name__)
        connection.close()
        return 0
