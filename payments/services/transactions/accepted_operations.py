"""Wait for the outcome of a capture or void that its acquirer has accepted, for a moment. Decision 0089.

Most are decided within a second, so the merchant gets the outcome with the response. A process waits for one at a time,
so that slow acquirers don't occupy its threads. `requery` finds every other outcome.
"""

import threading
import time
from collections.abc import Callable

from payments.models import CardOperation
from payments.rails.protocol import RailAnswer
from payments.services.rails.rail_queries import parallel_calls
from payments.services.rails.rail_queries.parallel_calls import CallGroup, RailCall, Reply
from payments.services.rails.rail_queries.query_leases import lane_of

LONGEST_WAIT = 3.0  # seconds
FIRST_PAUSE = 0.2  # seconds before the first query; each further pause is twice as long

_waiting = threading.Lock()


def outcome_of(operation: CardOperation, query: Callable[[], RailAnswer]) -> RailAnswer | None:
    """Query an accepted operation until its outcome is known. Call it outside any database transaction.

    Returns None if the outcome isn't known in time, or this process waits for another one.
    """
    if not _waiting.acquire(blocking=False):
        return None
    try:
        return _poll(operation, query)
    finally:
        _waiting.release()


def _poll(operation: CardOperation, query: Callable[[], RailAnswer]) -> RailAnswer | None:
    ends_at, pause = time.monotonic() + LONGEST_WAIT, FIRST_PAUSE
    while time.monotonic() + pause < ends_at:
        time.sleep(pause)
        pause *= 2
        reply = _reply_until(ends_at, operation, query)
        if reply is None:
            return None
        answer: RailAnswer | None = reply.answer
        if answer is not None and answer.is_definite:
            return answer
    return None


def _reply_until(moment: float, operation: CardOperation, query: Callable[[], RailAnswer]) -> Reply | None:
    """Query in another thread, and return its reply, or None if it takes longer than that moment."""
    lane = lane_of(operation)
    calls = CallGroup(late=_ignore)
    parallel_calls.slots.take_extra(lane)
    calls.start(RailCall(operation, lane, query))
    try:
        return calls.next(timeout=max(moment - time.monotonic(), 0))
    finally:
        calls.close()


def _ignore(_late: Reply) -> None:
    """Leave the outcome to `requery`."""
