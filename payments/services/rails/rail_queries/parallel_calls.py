"""Concurrent calls to rails: a bounded number per lane, each in its own thread.

The caller collects the replies until its deadline. Later replies are handled by their threads. The threads are
daemons, so a connector that never returns only blocks its slot in its lane.
"""

from __future__ import annotations

import queue
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog
from django.db import connections

from payments.services.rails.rail_queries.query_leases import Lane

log = structlog.get_logger("sluice.requery")

SLOTS = 4  # concurrent calls per lane and process


@dataclass(frozen=True, slots=True)
class RailCall:
    """A call about one row (a transaction, operation or message) that needs no database."""

    subject: Any
    lane: Lane
    run: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """The result or the error of a call."""

    call: RailCall
    answer: Any = None
    error: BaseException | None = None

    def result(self) -> Any:
        """Return the answer, or raise the call's error."""
        if self.error is not None:
            raise self.error
        return self.answer


def reply_to(call: RailCall) -> Reply:
    """Make a call in this thread."""
    try:
        return Reply(call, answer=call.run())
    except Exception as error:  # noqa: BLE001  (the caller decides what it means)
        return Reply(call, error=error)


class Slots:
    """The slots of each lane in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: dict[Lane, int] = defaultdict(int)

    def take(self, lane: Lane) -> int:
        """Take all free slots of a lane, and return their number."""
        with self._lock:
            free = max(SLOTS - self._taken[lane], 0)
            self._taken[lane] += free
            return free

    def take_extra(self, lane: Lane) -> None:
        """Take a slot for a second call about the same subject, even if none is free."""
        with self._lock:
            self._taken[lane] += 1

    def release(self, lane: Lane, count: int = 1) -> None:
        with self._lock:
            self._taken[lane] -= count


slots = Slots()


class CallGroup:
    """Concurrent calls and their replies."""

    def __init__(self, *, late: Callable[[Reply], None]) -> None:
        self._late = late
        self._lock = threading.Lock()
        self._is_closed = False
        self._replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        self.waiting_for = 0

    def start(self, call: RailCall) -> None:
        """Make a call in a new thread. The caller has taken a slot for it."""
        self.waiting_for += 1
        threading.Thread(target=self._ask, args=(call,), name="rail-call", daemon=True).start()

    def next(self, *, timeout: float | None) -> Reply | None:
        """Return the next reply, or None on time-out."""
        try:
            reply = self._replies.get(timeout=timeout)
        except queue.Empty:
            return None
        self.waiting_for -= 1
        return reply

    def close(self) -> list[Reply]:
        """Stop waiting and return the replies received so far. Later ones are handled by their threads."""
        with self._lock:
            self._is_closed = True
        here = []
        while (reply := self.next(timeout=0)) is not None:
            here.append(reply)
        return here

    def _ask(self, call: RailCall) -> None:
        try:
            reply = Reply(call, answer=call.run())
        except BaseException as error:  # noqa: BLE001  (the collector decides what it means)
            reply = Reply(call, error=error)
        slots.release(call.lane)
        with self._lock:
            if not self._is_closed:
                self._replies.put(reply)
                return
        try:
            self._late(reply)
        except Exception:
            log.exception("late answer not applied", id=str(call.subject.pk))
        finally:
            connections.close_all()
