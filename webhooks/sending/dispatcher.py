"""Dispatcher of webhooks: lease due deliveries, send them concurrently, record the results.

A dispatcher looks for due deliveries when it receives a wake-up signal, when a request ends and another delivery waits
for its place, and every second: a signal may be lost, and retries send none.

Any number of processes may run one. Each lease has a token and is renewed until the result is recorded. If a dispatcher
is killed, its deliveries are sent again after its leases have ended; if it only stalled, its late results are
discarded. `concurrency` limits the requests in flight per endpoint.
"""

from __future__ import annotations

import asyncio
import math
import random
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from ipaddress import ip_network
from typing import TypeVar

import structlog
from django.conf import settings
from django.db import Error, InterfaceError, OperationalError, connection

from kit.db import clock as clocks
from kit.db.clock import FollowedClock
from webhooks.endpoints import held_deliveries
from webhooks.metrics import ATTEMPT_SECONDS, ATTEMPTS, LEASES_LOST
from webhooks.models import event_name
from webhooks.sending import leases, results, wake_up
from webhooks.sending.concurrency import InFlight
from webhooks.sending.leases import NOTHING, Acquired, LeasedDelivery
from webhooks.sending.request_headers import request_headers
from webhooks.sending.results import AttemptResult
from webhooks.sending.retry_schedule import JITTER
from webhooks.sending.sender import Exchange, Sender
from webhooks.signing import sign, standard_headers

log = structlog.get_logger("sluice.webhooks")

T = TypeVar("T")

SLOTS = 500  # requests in flight; 100 silent endpoints with two places each still leave most of them free
LEASE = timedelta(seconds=12)  # the deliveries of a killed process wait at most this long
RENEW_EVERY = 4.0  # seconds; a lease outlasts two renewals that fail
BATCH = 50  # deliveries leased at once; 100 need 3.5 MB more memory (benchmarks/README.md)
INTERVAL = 1.0  # seconds between two polls
DATABASE_PAUSE = 0.2  # seconds before a retry when the database is unavailable
DATABASE_PATIENCE = 30.0  # seconds of retries
OUTAGE_PAUSE = 1.0  # seconds before the first lookup after an outage
RECORD_PAUSE = 0.005  # seconds in which results are collected into one batch


def send_due(stopped: threading.Event, *, progress: Callable[[int], object] = lambda _: None) -> int:
    """Send due deliveries until `stopped` is set; return the number of attempts.

    A dispatcher that failed is replaced. `progress` gets its number of attempts at each poll.
    """
    sent = 0
    while not stopped.is_set():
        dispatcher = Dispatcher(stopped=stopped, progress=progress)
        try:
            dispatcher.run()
        except Exception:  # one failure must not stop delivery
            log.exception("the dispatcher failed and starts again")
            stopped.wait(INTERVAL)
        sent += dispatcher.sent
    return sent


class Dispatcher:
    """Sends due deliveries, including those that become due while it runs.

    `clock` reads the database's time. Once `stopped` is set, it acquires no more leases, and ends when the requests in
    flight have ended.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], datetime] = clocks.now,
        stopped: threading.Event | None = None,
        progress: Callable[[int], object] = lambda _: None,
    ) -> None:
        self._clock = FollowedClock(clock)
        self._stopped = stopped or threading.Event()
        self._progress = progress
        self._changed = asyncio.Event()  # a signal came, a request ended, or results were recorded
        self._is_to_look = True
        self._poll_at = -math.inf  # by the monotonic clock
        self._is_place_wanted = False  # at the last look, a due delivery had no place
        self._is_place_free = False  # a request has ended since
        # Two threads, each with its own connection, so that acquiring and recording do not wait for each other.
        self._lease_thread = ThreadPoolExecutor(1, thread_name_prefix="webhook-leases")
        self._result_thread = ThreadPoolExecutor(1, thread_name_prefix="webhook-results")
        self._in_flight = InFlight()
        self._running: dict[asyncio.Task[None], LeasedDelivery] = {}
        self._results: list[AttemptResult] = []
        self._batch: list[AttemptResult] = []  # results that are being recorded
        self._recording: asyncio.Task[None] | None = None
        self.sent = 0

    def run(self, *, once: bool = False) -> int:
        """Send until stopped, or once until nothing is due; return the number of attempts."""
        try:
            asyncio.run(self._run(once=once))
        finally:
            for thread in (self._lease_thread, self._result_thread):
                thread.submit(_close_connection).result()
                thread.shutdown()
        return self.sent

    async def _run(self, *, once: bool) -> None:
        allowed = [ip_network(network) for network in settings.WEBHOOK_ALLOW_CIDRS]
        beside = [
            asyncio.create_task(work) for work in (wake_up.listen(self._look_now), self._renew_leases())
        ]
        try:
            async with Sender(timeout=settings.WEBHOOK_TIMEOUT, allowed=allowed) as sender:
                await self._send(sender, once=once)
        finally:
            for task in beside:
                task.cancel()

    def _look_now(self) -> None:
        self._is_to_look = True
        self._changed.set()

    async def _send(self, sender: Sender, *, once: bool) -> None:
        while True:
            self._changed.clear()
            is_poll = time.monotonic() >= self._poll_at
            if not self._stopped.is_set() and (self._is_to_look or is_poll):
                for delivery in await self._acquire(is_poll=is_poll):
                    self._start(sender, delivery)
            self._start_recording(once=once)
            if self._is_to_look and not self._stopped.is_set():
                continue
            if not self._is_busy() and (once or self._stopped.is_set()):
                return
            await self._wait_for_change()

    def _is_busy(self) -> bool:
        return bool(self._running or self._results or self._recording)

    async def _wait_for_change(self) -> None:
        # Once it is stopped, it polls no more, and waits for its requests alone.
        until_poll = None if self._stopped.is_set() else max(self._poll_at - time.monotonic(), 0)
        with suppress(TimeoutError):
            async with asyncio.timeout(until_poll):
                await self._changed.wait()
        if self._is_place_wanted and self._is_place_free and not self._is_to_look:
            await asyncio.sleep(RECORD_PAUSE)  # other requests end too
            self._is_to_look = True

    async def _acquire(self, *, is_poll: bool) -> list[LeasedDelivery]:
        """Lease due deliveries. A poll queries first whether there are any, which is cheaper."""
        is_known, self._is_to_look, self._is_place_free = self._is_to_look, False, False
        if is_poll:
            self._poll_at = time.monotonic() + INTERVAL
            self._progress(self.sent)
        limit = min(SLOTS - len(self._running), BATCH)
        if limit <= 0:
            self._is_place_wanted = True
            return []
        token, free, shares = uuid.uuid4(), self._in_flight.free(), self._in_flight.shares()
        ends_at: list[datetime] = []  # ends of leases that earlier calls may have committed
        started_at = time.monotonic()

        def acquire() -> Acquired:
            if time.monotonic() - started_at > RENEW_EVERY:
                _wait_for_results(at=self._clock.now())
            at, earlier = self._clock.synchronize(), tuple(ends_at)
            if is_poll:
                if not is_known and not leases.has_work(at=at):
                    return NOTHING
                held_deliveries.release_stragglers(at=at)
            ends_at.append(at + LEASE)
            return leases.acquire(
                at=at,
                until=at + LEASE,
                token=token,
                limit=limit,
                free=free,
                shares=shares,
                earlier=earlier,
            )

        acquired = await self._in_database(self._lease_thread, acquire)
        self._is_place_wanted = acquired.is_place_wanted
        self._is_to_look |= acquired.has_more
        return acquired.deliveries

    async def _renew_leases(self) -> None:
        """Renew the leases of deliveries whose results are not recorded.

        In the thread that records: two updates of the same rows at the same time could deadlock.
        """
        while True:
            await asyncio.sleep(RENEW_EVERY)
            unrecorded = [result.delivery for result in (*self._batch, *self._results)]
            held = [*self._running.values(), *unrecorded]

            def renew(held: list[LeasedDelivery] = held) -> None:
                leases.renew(held, until=self._clock.now() + LEASE)

            if held:
                try:
                    await self._in_database(self._result_thread, renew)
                except Error as error:  # the next renewal may succeed
                    log.warning("leases not renewed", error=type(error).__name__)

    def _start(self, sender: Sender, delivery: LeasedDelivery) -> None:
        self._in_flight.begin(
            delivery.business_id,
            delivery.id,
            is_first=delivery.is_first,
            number=delivery.endpoint_number,
            endpoints=delivery.endpoints,
        )
        task = asyncio.create_task(self._deliver(sender, delivery))
        self._running[task] = delivery
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        self._is_place_free = True
        self._changed.set()

    async def _deliver(self, sender: Sender, delivery: LeasedDelivery) -> None:
        try:
            started_at = self._clock.now()
            if started_at >= delivery.leased_until:  # another process may have leased it
                log.warning("a lease ended before its request", delivery=str(delivery.id))
                return
            exchange = await self._post(sender, delivery, started_at)
        finally:
            self._in_flight.end(delivery.business_id, delivery.id)
        self._in_flight.note_answer(
            delivery.business_id, timed_out=exchange.error == "timeout", number=delivery.endpoint_number
        )
        _count(delivery, exchange)
        self._results.append(self._result_of(delivery, exchange, started_at))
        self.sent += 1

    async def _post(self, sender: Sender, delivery: LeasedDelivery, at: datetime) -> Exchange:
        body = delivery.body.encode()
        key, *previous = keys = delivery.keys(at=at)
        headers = request_headers(
            signature=sign(key, body),
            previous_signature=sign(previous[0], body) if previous else "",
            version=delivery.shown_version,
            event_id=delivery.event_id,
            event=event_name(delivery.event),
            attempt=delivery.number,
            is_test=delivery.is_test,
        )
        if delivery.standard_webhooks:
            headers |= standard_headers(keys, delivery_id=delivery.id, at=at, body=body)
        return await sender.post(delivery.url, body=body, headers=headers)

    def _result_of(self, delivery: LeasedDelivery, exchange: Exchange, started_at: datetime) -> AttemptResult:
        return AttemptResult(
            delivery=delivery,
            exchange=exchange,
            started_at=started_at,
            ended_at=self._clock.now(),
            jitter=random.uniform(-JITTER, JITTER),  # noqa: S311  (spreads load; not for security)
        )

    def _start_recording(self, *, once: bool) -> None:
        """Start recording results, unless that is already running.

        :raises OperationalError: the database was unavailable for too long to record the last results
        """
        if self._recording is not None and self._recording.done():
            self._recording.result()
            self._recording = None
            self._is_to_look |= once  # a retry may be due at once
        if self._results and self._recording is None:
            self._recording = asyncio.create_task(self._record())

    async def _record(self) -> None:
        try:
            await asyncio.sleep(RECORD_PAUSE)
            batch = self._batch = self._results
            self._results = []
            lost = await self._in_database(self._result_thread, lambda: results.record_results(batch))
            if lost:
                LEASES_LOST.inc(lost)
                log.warning("leases ended before their results", deliveries=lost)
        finally:
            self._batch = []
            self._changed.set()

    async def _in_database(self, thread: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        """Run blocking work in one of the database threads.

        If the database is unavailable, the work is retried on a new connection. Without its results, a
        delivery would be sent twice.
        """
        ends_at = time.monotonic() + DATABASE_PATIENCE
        while True:
            try:
                return await asyncio.get_running_loop().run_in_executor(thread, work)
            except (InterfaceError, OperationalError) as error:
                if time.monotonic() >= ends_at:
                    raise
                log.warning("database unavailable", error=type(error).__name__)
            await asyncio.get_running_loop().run_in_executor(thread, _close_connection)
            await asyncio.sleep(DATABASE_PAUSE)


def _wait_for_results(*, at: datetime) -> None:
    """After an outage of the database, let all senders record their results first.

    Their leases may have ended meanwhile, and what they have sent would be sent again.

    :raises OperationalError: the database is still unavailable
    """
    leases.has_work(at=at)
    time.sleep(OUTAGE_PAUSE)


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
