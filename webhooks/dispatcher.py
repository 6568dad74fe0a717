"""Dispatcher of webhooks: lease due deliveries, send them concurrently, record the results.

Any number of dispatchers may run, in any number of processes. Each lease has a token. If a dispatcher is killed,
its deliveries are sent again after its leases have ended; if it only stalled, its late results are discarded.
`concurrency` limits the requests in flight per endpoint.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import random
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from ipaddress import ip_network
from typing import TypeVar

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from kit.db import clock as clocks
from kit.db.clock import FollowedClock
from webhooks import held_deliveries, leases, results, wake_up
from webhooks.concurrency import InFlight
from webhooks.leases import LeasedDelivery
from webhooks.metrics import ATTEMPT_SECONDS, ATTEMPTS, LEASES_LOST
from webhooks.models import event_name
from webhooks.request_headers import request_headers
from webhooks.results import AttemptResult
from webhooks.retry_schedule import JITTER
from webhooks.sender import Exchange, Sender
from webhooks.signing import sign

log = structlog.get_logger("sluice.webhooks")

T = TypeVar("T")

SLOTS = 500  # requests in flight; 100 silent endpoints with two places each still leave most of them free
LEASE_MARGIN = 20.0  # seconds a lease lasts beyond the request timeout
BATCH = 50  # deliveries leased at once; 100 need 3.5 MB more memory (benchmarks/README.md)
POLL = 0.05  # seconds between two polls while requests are in flight
IDLE_POLL = 0.5  # seconds between two polls while it lingers
DATABASE_PAUSE = 0.2  # seconds before a retry when the database is unavailable
RECORD_PAUSE = 0.005  # seconds in which results are collected into one batch
RELEASE_PAUSE = 1.0  # seconds between two queries for held deliveries whose endpoint is enabled
LINGER = 2.0  # seconds a worker's dispatcher keeps running after its last delivery, ready for the next
LIFE = 30.0  # seconds after which a task's dispatcher is replaced, so that a worker can be stopped under any load


class Dispatcher:
    """One run that sends due deliveries, including those that become due during it.

    `clock` reads the database's time. The run ends `linger` seconds after its last delivery. After `life` seconds it
    acquires no more leases and requests another dispatcher, which may start while this one waits for its
    requests in flight.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], datetime] = clocks.now,
        linger: float = 0,
        life: float = math.inf,
        in_flight: InFlight | None = None,
    ) -> None:
        self._clock = FollowedClock(clock)
        self._linger = linger
        self._life = life
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()  # a request ended, or a wake-up signal came
        # Two threads, each with its own connection, so that acquiring and recording do not wait for each other.
        self._lease_thread = ThreadPoolExecutor(1, thread_name_prefix="webhook-leases")
        self._result_thread = ThreadPoolExecutor(1, thread_name_prefix="webhook-results")
        self._in_flight = InFlight() if in_flight is None else in_flight
        self._release_at = -math.inf  # by the monotonic clock
        self._results: list[AttemptResult] = []
        self._running: set[asyncio.Task[None]] = set()
        self._recording: asyncio.Task[None] | None = None
        self._stopping = False
        self._retired = False
        self.sent = 0

    def run(self) -> int:
        """Send until nothing is due or in flight; return the number of attempts."""
        try:
            asyncio.run(self._run())
        finally:
            for thread in (self._lease_thread, self._result_thread):
                thread.submit(_close_connection).result()
                thread.shutdown()
        return self.sent

    @property
    def has_retired(self) -> bool:
        """Return whether another dispatcher may start beside it. A stopped one keeps its place to the end."""
        return self._retired

    def stop(self) -> None:
        """Acquire no more leases, and wait for the requests in flight."""
        self._stopping = True
        self.wake()

    def wake(self) -> None:
        """Poll now. May be called from any thread."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just ended
                self._loop.call_soon_threadsafe(self._changed.set)

    async def _run(self) -> None:
        allowed = [ip_network(network) for network in settings.WEBHOOK_ALLOW_CIDRS]
        self._loop = asyncio.get_running_loop()
        ends_at = time.monotonic() + self._life
        idle_until = time.monotonic() + self._linger
        async with Sender(timeout=settings.WEBHOOK_TIMEOUT, allowed=allowed) as sender:
            while True:
                self._changed.clear()
                leased = [] if self._stopping else await self._acquire()
                for delivery in leased:
                    self._start(sender, delivery)
                if leased or self._is_busy():
                    idle_until = time.monotonic() + self._linger
                elif self._stopping or self._is_over(min(idle_until, ends_at)):
                    self._retired = True
                    return
                self._start_recording()
                if not leased:
                    await self._wait_for_change()
                if time.monotonic() >= ends_at and not self._stopping:
                    self._stopping = self._retired = True
                    wake_up.notify()

    def _is_over(self, moment: float) -> bool:
        """Return whether it is time to end. A signal since the last poll keeps it running."""
        return time.monotonic() >= moment and not self._changed.is_set()

    def _is_busy(self) -> bool:
        return bool(self._running or self._results or self._recording)

    async def _wait_for_change(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), POLL if self._is_busy() else IDLE_POLL)
        if self._results:
            await asyncio.sleep(RECORD_PAUSE)

    async def _acquire(self) -> list[LeasedDelivery]:
        limit = min(SLOTS - len(self._running), BATCH)
        if limit <= 0:
            return []
        token, free = uuid.uuid4(), self._in_flight.free()
        lease = timedelta(seconds=settings.WEBHOOK_TIMEOUT + LEASE_MARGIN)
        ends_at: list[datetime] = []  # ends of leases that earlier calls may have committed

        def acquire() -> list[LeasedDelivery]:
            at, earlier = self._clock.synchronize(), tuple(ends_at)
            self._release_stragglers(at=at)
            ends_at.append(at + lease)
            return leases.acquire(
                at=at, until=at + lease, token=token, limit=limit, free=free, earlier=earlier
            )

        return await self._in_database(self._lease_thread, acquire)

    def _release_stragglers(self, *, at: datetime) -> None:
        """Release held deliveries every second, because under steady load a dispatcher runs for a long time."""
        if time.monotonic() < self._release_at:
            return
        held_deliveries.release_stragglers(at=at)
        self._release_at = time.monotonic() + RELEASE_PAUSE

    def _start(self, sender: Sender, delivery: LeasedDelivery) -> None:
        self._in_flight.begin(delivery.business_id, delivery.id, is_first=delivery.is_first)
        task = asyncio.create_task(self._deliver(sender, delivery))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _deliver(self, sender: Sender, delivery: LeasedDelivery) -> None:
        try:
            started_at = self._clock.now()
            if started_at >= delivery.leased_until:  # another process may have leased it
                log.warning("a lease ended before its request", delivery=str(delivery.id))
                return
            exchange = await self._post(sender, delivery)
        finally:
            self._in_flight.end(delivery.business_id, delivery.id)
        self._in_flight.note_answer(delivery.business_id, timed_out=exchange.error == "timeout")
        _count(delivery, exchange)
        self._results.append(self._result_of(delivery, exchange, started_at))
        self.sent += 1
        self._changed.set()

    async def _post(self, sender: Sender, delivery: LeasedDelivery) -> Exchange:
        body = delivery.body.encode()
        headers = request_headers(
            signature=sign(delivery.hash_key, body),
            event_id=delivery.id,
            event=event_name(delivery.event),
            attempt=delivery.number,
            is_test=delivery.is_test,
        )
        return await sender.post(delivery.url, body=body, headers=headers)

    def _result_of(self, delivery: LeasedDelivery, exchange: Exchange, started_at: datetime) -> AttemptResult:
        return AttemptResult(
            delivery=delivery,
            exchange=exchange,
            started_at=started_at,
            ended_at=self._clock.now(),
            jitter=random.uniform(-JITTER, JITTER),  # noqa: S311  (spreads load; not for security)
        )

    def _start_recording(self) -> None:
        """Start recording results, unless that is already running.

        :raises OperationalError: the database was unavailable for too long to record the last results
        """
        if self._recording is not None and self._recording.done():
            self._recording.result()
            self._recording = None
        if self._results and self._recording is None:
            self._recording = asyncio.create_task(self._record())

    async def _record(self) -> None:
        try:
            await asyncio.sleep(RECORD_PAUSE)
            batch, self._results = self._results, []
            lost = await self._in_database(self._result_thread, lambda: results.record_results(batch))
            if lost:
                LEASES_LOST.inc(lost)
                log.warning("leases ended before their results", deliveries=lost)
        finally:
            self._changed.set()

    async def _in_database(self, thread: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        """Run blocking work in one of the database threads.

        If the database is unavailable, the work is retried on a new connection. Without its results, a
        delivery would be sent twice.
        """
        ends_at = time.monotonic() + settings.WEBHOOK_TIMEOUT + LEASE_MARGIN
        while True:
            try:
                return await asyncio.get_running_loop().run_in_executor(thread, work)
            except (InterfaceError, OperationalError) as error:
                if time.monotonic() >= ends_at:
                    raise
                log.warning("database unavailable", error=type(error).__name__)
            await asyncio.get_running_loop().run_in_executor(thread, _close_connection)
            await asyncio.sleep(DATABASE_PAUSE)


def _count(delivery: LeasedDelivery, exchange: Exchange) -> None:
    """Count an attempt, and log it if it failed. Test events are not counted."""
    if not delivery.is_test:
        ATTEMPTS.labels("delivered" if exchange.succeeded else exchange.error).inc()
        ATTEMPT_SECONDS.observe(exchange.total_ms / 1000)
    if not exchange.succeeded:
        log.info(
            "attempt failed",
            delivery=str(delivery.id),
            business=str(delivery.business_id),
            number=delivery.number,
            error=exchange.error,
            status=exchange.status,
        )


def _close_connection() -> None:
    """Close the database connection of the calling thread."""
    connection.close()


class ProcessState:
    """What the dispatchers of this process share."""

    lock: threading.Lock
    dispatchers: set[Dispatcher]
    in_flight: InFlight

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start anew, as in a forked process, where the dispatchers' threads don't exist and locks may be held."""
        self.lock = threading.Lock()
        self.dispatchers = set()
        self.in_flight = InFlight()


_process = ProcessState()
os.register_at_fork(after_in_child=_process.reset)


def dispatch_due(*, linger: float = 0, life: float = math.inf, stopped: threading.Event | None = None) -> int:
    """Run a dispatcher. If one already runs in this process, wake it instead.

    To also stop a dispatcher that is just starting, set `stopped` before calling `stop_gracefully`.
    """
    dispatcher = Dispatcher(linger=linger, life=life, in_flight=_process.in_flight)
    with _process.lock:
        running = next((one for one in _process.dispatchers if not one.has_retired), None)
        if running is None:
            _process.dispatchers.add(dispatcher)
    if running is not None:
        running.wake()
        return 0
    if stopped is not None and stopped.is_set():
        dispatcher.stop()
    try:
        return dispatcher.run()
    finally:
        _process.dispatchers.discard(dispatcher)


def stop_gracefully() -> None:
    """Stop the dispatchers of this process after their requests in flight have ended."""
    for dispatcher in list(_process.dispatchers):
        dispatcher.stop()
