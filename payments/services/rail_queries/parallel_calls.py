"""Calls to rails made at the same time: a bounded number per lane, each in a thread of its own.

The caller collects the replies for as long as it can wait. A reply that comes later is handled by its thread.
The threads are daemons: a connector that never returns keeps its place in its lane, and holds up nothing else.
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

from payments.services.rail_queries.query_leases import Lane

log = structlog.get_logger("sluice.requery")

PLACES = 4  # questions to one lane at once, in one process


@dataclass(frozen=True, slots=True)
class Question:
    """A call that needs no database, about one row: a transaction, an operation, a message."""

    subject: Any
    lane: Lane
    call: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call returned, or raised."""

    question: Question
    answer: Any = None
    error: BaseException | None = None

    def result(self) -> Any:
        """Return the answer, or raise what the call raised."""
        if self.error is not None:
            raise self.error
        return self.answer


class Places:
    """The places of each lane in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: dict[Lane, int] = defaultdict(int)

    def take(self, lane: Lane) -> int:
        """Take all free places of a lane; return how many."""
        with self._lock:
            free = max(PLACES - self._taken[lane], 0)
            self._taken[lane] += free
            return free

    def take_one_more(self, lane: Lane) -> None:
        """Take a place for the second call about the same subject, free or not."""
        with self._lock:
            self._taken[lane] += 1

    def give_back(self, lane: Lane, count: int = 1) -> None:
        with self._lock:
            self._taken[lane] -= count


places = Places()


class Round:
    """Questions asked at the same time, and their replies."""

    def __init__(self, *, late: Callable[[Reply], None]) -> None:
        self._late = late
        self._lock = threading.Lock()
        self._is_closed = False
        self._replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        self.waiting_for = 0

    def start(self, question: Question) -> None:
        """Make a call in a thread of its own. The caller has taken a place for it."""
        self.waiting_for += 1
        threading.Thread(target=self._ask, args=(question,), name="rail-call", daemon=True).start()

    def next(self, *, timeout: float | None) -> Reply | None:
        """Return the next reply; None where none comes in time."""
        try:
            reply = self._replies.get(timeout=timeout)
        except queue.Empty:
            return None
        self.waiting_for -= 1
        return reply

    def close(self) -> list[Reply]:
        """Stop waiting: return the replies received so far. Later ones are handled by their threads."""
        with self._lock:
            self._is_closed = True
        here = []
        while (reply := self.next(timeout=0)) is not None:
            here.append(reply)
        return here

    def _ask(self, question: Question) -> None:
        try:
            reply = Reply(question, answer=question.call())
        except BaseException as error:  # noqa: BLE001  (the collector decides what it means)
            reply = Reply(question, error=error)
        places.give_back(question.lane)
        with self._lock:
            if not self._is_closed:
                self._replies.put(reply)
                return
        try:
            self._late(reply)
        except Exception:
            log.exception("late answer not applied", id=str(question.subject.pk))
        finally:
            connections.close_all()
