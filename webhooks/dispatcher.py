"""The dispatcher of webhooks: lease due deliveries, send them at once, record the results.

Any number of dispatchers may run, in any number of processes. A lease has a token: when a dispatcher is
killed, its deliveries are sent once its leases have ended; one that resumes after that changes nothing. How many
requests an endpoint may have in flight is decided in `concurrency`.
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
from webhooks import held_deliveries, leases, wake_up
from webhooks import results as finishing
from webhooks.concurrency import InFlight
from webhooks.leases import Claimed
from webhooks.metrics import ATTEMPT_SECONDS, ATTEMPTS, LEASES_LOST
from webhooks.request_headers import request_headers
from webhooks.results import Finished
from webhooks.schedule import JITTER
from webhooks.sender import Exchange, Sender
from webhooks.signing import sign

log = structlog.get_logger("sluice.webhooks")

T = TypeVar("T")

SLOTS = 500  # requests in flight: 100 silent endpoints, with the two places of each, leave most of them free
LEASE_MARGIN = 20.0  # seconds that a lease lasts longer than the exchange it covers
BATCH = 100
POLL = 0.05  # seconds between two looks that no news prompted, while something is under way
IDLE_POLL = 0.5  # the same, while it lingers
DATABASE_PAUSE = 0.2  # seconds before the database is asked again after it was away
FINISH_PAUSE = 0.005  # seconds in which results gather
RELEASE_PAUSE = 1.0  # seconds between two queries for held deliveries whose endpoint is enabled
LINGER = 2.0  # seconds a worker's drain stays awake after its last delivery: the next one finds it warm
LIFE = 30.0  # seconds after which a task's drain makes room for the next: a worker can be stopped at any load


class Drain:
    """One run over what is due, and over what becomes due meanwhile. `clock` reads the database's time.

    It stays awake for `linger` seconds after its last delivery. After `life` seconds it claims nothing more,
    and wakes another dispatcher, which may begin while this one finishes what is under way.
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
        self._news = asyncio.Event()  # something was finished, or somebody rang
        # A thread, and with it a connection, to claim and one to finish: neither waits for the other's commit.
        self._claims = ThreadPoolExecutor(1, thread_name_prefix="drain-claim")
        self._finishes = ThreadPoolExecutor(1, thread_name_prefix="drain-finish")
        self._in_flight = InFlight() if in_flight is None else in_flight
        self._release_at = -math.inf  # by the monotonic clock
        self._results: list[Finished] = []
        self._running: set[asyncio.Task[None]] = set()
        self._finishing: asyncio.Task[None] | None = None
        self._stopping = False
        self._retired = False
        self.sent = 0

    def run(self) -> int:
        """Send until nothing is due and nothing under way; return how many attempts were made."""
        try:
            asyncio.run(self._run())
        finally:
            for thread in (self._claims, self._finishes):
                thread.submit(_hang_up).result()
                thread.shutdown()
        return self.sent

    @property
    def has_retired(self) -> bool:
        """Tell whether another one may begin beside it. One that was told to stop keeps its place to the end."""
        return self._retired

    def stop(self) -> None:
        """Claim nothing more, and finish what is under way."""
        self._stopping = True
        self.wake()

    def wake(self) -> None:
        """Look now, from whatever thread this is called."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just ended: nobody needs to be woken
                self._loop.call_soon_threadsafe(self._news.set)

    async def _run(self) -> None:
        allowed = [ip_network(network) for network in settings.WEBHOOK_ALLOW_CIDRS]
        self._loop = asyncio.get_running_loop()
        ends_at = time.monotonic() + self._life
        idle_until = time.monotonic() + self._linger
        async with Sender(timeout=settings.WEBHOOK_TIMEOUT, allowed=allowed) as sender:
            while True:
                self._news.clear()
                claimed = [] if self._stopping else await self._claim()
                for delivery in claimed:
                    self._start(sender, delivery)
                if claimed or self._is_busy():
                    idle_until = time.monotonic() + self._linger
                elif self._stopping or self._is_over(min(idle_until, ends_at)):
                    self._retired = True
                    return
                self._finish_soon()
                if not claimed:
                    await self._wait_for_news()
                if time.monotonic() >= ends_at and not self._stopping:
                    self._stopping = self._retired = True
                    wake_up.ring()

    def _is_over(self, moment: float) -> bool:
        """Tell whether it is time to end: not when somebody rang after the last look."""
        return time.monotonic() >= moment and not self._news.is_set()

    def _is_busy(self) -> bool:
        return bool(self._running or self._results or self._finishing)

    async def _wait_for_news(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), POLL if self._is_busy() else IDLE_POLL)
        if self._results:
            await asyncio.sleep(FINISH_PAUSE)

    async def _claim(self) -> list[Claimed]:
        limit = min(SLOTS - len(self._running), BATCH)
        if limit <= 0:
            return []
        token, free = uuid.uuid4(), self._in_flight.free()
        lease = timedelta(seconds=settings.WEBHOOK_TIMEOUT + LEASE_MARGIN)
        ends_at: list[datetime] = []  # of the leases that a call whose answer was lost may have committed

        def claim() -> list[Claimed]:
            at, earlier = self._clock.synchronize(), tuple(ends_at)
            self._release_stragglers(at=at)
            ends_at.append(at + lease)
            return leases.claim(at=at, until=at + lease, token=token, limit=limit, free=free, earlier=earlier)

        return await self._in_database(self._claims, claim)

    def _release_stragglers(self, *, at: datetime) -> None:
        """Query each second, not once: under a steady load a dispatcher runs for as long as its worker."""
        if time.monotonic() < self._release_at:
            return
        held_deliveries.release_stragglers(at=at)
        self._release_at = time.monotonic() + RELEASE_PAUSE

    def _start(self, sender: Sender, delivery: Claimed) -> None:
        self._in_flight.begin(delivery.business_id, delivery.id, is_first=delivery.is_first)
        task = asyncio.create_task(self._deliver(sender, delivery))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _deliver(self, sender: Sender, delivery: Claimed) -> None:
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
        self._results.append(self._judge(delivery, exchange, started_at))
        self.sent += 1
        self._news.set()

    async def _post(self, sender: Sender, delivery: Claimed) -> Exchange:
        body = delivery.body.encode()
        headers = request_headers(
            signature=sign(delivery.hash_key, body),
            event_id=delivery.id,
            event=delivery.event,
            attempt=delivery.number,
            is_test=delivery.is_test,
        )
        return await sender.post(delivery.url, body=body, headers=headers)

    def _judge(self, delivery: Claimed, exchange: Exchange, started_at: datetime) -> Finished:
        return Finished(
            delivery=delivery,
            exchange=exchange,
            started_at=started_at,
            ended_at=self._clock.now(),
            jitter=random.uniform(-JITTER, JITTER),  # noqa: S311  (spreads load; guards nothing)
        )

    def _finish_soon(self) -> None:
        """Begin to write results down, unless that goes on already.

        :raises OperationalError: the last results could not be written: the database stayed away
        """
        if self._finishing is not None and self._finishing.done():
            self._finishing.result()
            self._finishing = None
        if self._results and self._finishing is None:
            self._finishing = asyncio.create_task(self._finish())

    async def _finish(self) -> None:
        try:
            await asyncio.sleep(FINISH_PAUSE)
            results, self._results = self._results, []
            lost = await self._in_database(self._finishes, lambda: finishing.finish(results))
            if lost:
                LEASES_LOST.inc(lost)
                log.warning("leases ended before their results", deliveries=lost)
        finally:
            self._news.set()

    async def _in_database(self, thread: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        """Do blocking work in a database thread of the drain.

        Where the database is away, it is done again on a new connection: giving up would leave what is
        under way without its results, to be sent twice when its leases have ended.
        """
        ends_at = time.monotonic() + settings.WEBHOOK_TIMEOUT + LEASE_MARGIN
        while True:
            try:
                return await asyncio.get_running_loop().run_in_executor(thread, work)
            except (InterfaceError, OperationalError) as error:
                if time.monotonic() >= ends_at:
                    raise
                log.warning("the database is away", error=type(error).__name__)
            await asyncio.get_running_loop().run_in_executor(thread, _hang_up)
            await asyncio.sleep(DATABASE_PAUSE)


def _count(delivery: Claimed, exchange: Exchange) -> None:
    """Count an attempt, and log one that failed. Those at test events are not counted."""
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


def _hang_up() -> None:
    """Close the connection of the thread that calls this."""
    connection.close()


_choosing = threading.Lock()
_drains: set[Drain] = set()
_in_flight = InFlight()  # of this process: all its dispatchers share each business's places


def drain_once(*, linger: float = 0, life: float = math.inf, stopped: threading.Event | None = None) -> int:
    """Run a drain; where one runs in this process already, wake it instead.

    Whoever sets `stopped` before he calls `stop_gracefully` stops also the drain that is just beginning.
    """
    drain = Drain(linger=linger, life=life, in_flight=_in_flight)
    with _choosing:
        running = next((one for one in _drains if not one.has_retired), None)
        if running is None:
            _drains.add(drain)
    if running is not None:
        running.wake()
        return 0
    if stopped is not None and stopped.is_set():
        drain.stop()
    try:
        return drain.run()
    finally:
        _drains.discard(drain)


def stop_gracefully() -> None:
    """Let the drains of this process finish what is under way and claim nothing more."""
    for drain in list(_drains):
        drain.stop()


def _forget_drains() -> None:
    """Begin afresh in a forked process, where the threads that would end these drains do not exist."""
    global _choosing, _in_flight  # noqa: PLW0603  (their locks may have been held)
    _choosing = threading.Lock()
    _in_flight = InFlight()
    _drains.clear()


os.register_at_fork(after_in_child=_forget_drains)
