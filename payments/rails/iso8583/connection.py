"""The connection to an acquirer's host: one per process, maintained by its own thread.

Other threads send a message and wait for the answer with the same class, STAN and RRN. The link signs on first,
sends echoes periodically and reconnects with a growing delay. When the connection ends, waiting threads get an error.
"""

import asyncio
import concurrent.futures
import contextlib
import itertools
import math
import random
import socket
import ssl
import threading
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import structlog

from kit.db import clock
from payments.rails.iso8583.answers import ACCEPTED
from payments.rails.iso8583.messages import ECHO, SIGN_OFF, SIGN_ON, Message, answer_to, network_request
from payments.rails.iso8583.wire import LENGTH_BYTES, LONGEST, InvalidFrame, frame, unpack, without_secrets

log = structlog.get_logger("sluice.acquirer")

T = TypeVar("T")

CONNECT_TIMEOUT = 5.0  # seconds, including DNS and TLS
REST_OF_FRAME = 5.0  # seconds from a frame's length to its end
ACKNOWLEDGED_WITHIN = 4.0  # seconds; plus `acquirer.SEND_WITHIN`, less than the time until a reversal
SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 15.0  # seconds between attempts to connect, doubled each time
JITTER = random.Random()  # noqa: S311  (not a secret; its own, so that it doesn't disturb a seed of other code)
GRACE = 1.0  # seconds that a caller waits beyond the deadline for the link's thread to report it


class NotSent(Exception):
    """The message was not sent."""


class Unanswered(Exception):
    """The message may have arrived, but the answer timed out or the connection ended."""


class SignOnRefused(Exception):
    """The host rejected the sign-on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    host: str
    port: int
    uses_tls: bool
    timeout: float  # seconds for one exchange, including the wait for the connection
    echo_interval: float  # seconds


class Link:
    """A connection that is opened on first use. Thread-safe."""

    def __init__(self, settings: LinkSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._thread: _LinkThread | None = None

    def exchange(self, question: Message, *, send_by: float = math.inf) -> Message:
        """Send a message and return its answer. `send_by` is the deadline for sending, on `clock.steady`.

        :raises UnencodableField: a value is invalid for its field; nothing was sent
        :raises NotSent: there was no connection in time, or the deadline had passed
        :raises Unanswered: the outcome is unknown
        """
        framed = frame(question)
        return self._run_on_thread(
            lambda thread: thread.exchange(question, framed, send_by=send_by), within=self._settings.timeout
        )

    def is_up(self, *, within: float) -> bool:
        """Return whether the link is signed on, waiting up to `within` seconds."""
        try:
            return self._run_on_thread(lambda thread: thread.is_up(within=within), within=within)
        except Unanswered:
            return False

    def close(self) -> None:
        """Sign off and stop the thread. The next exchange starts a new one."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.stop()

    def _run_on_thread(self, work: "Callable[[_LinkThread], Coroutine[Any, Any, T]]", *, within: float) -> T:
        thread = self._running_thread()
        working = work(thread)
        try:
            waiting = asyncio.run_coroutine_threadsafe(working, thread.loop)
        except RuntimeError:  # the loop was closed concurrently
            working.close()
            raise Unanswered from None
        try:
            return waiting.result(within + GRACE)
        except (TimeoutError, concurrent.futures.CancelledError):
            waiting.cancel()
            raise Unanswered from None

    def _running_thread(self) -> "_LinkThread":
        """Return the thread, and start one if there is none, for example after a fork."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = _LinkThread(self._settings)
                self._thread.start()
            return self._thread


class _LinkThread(threading.Thread):
    """The link's thread. All methods except `stop` run on its event loop."""

    def __init__(self, settings: LinkSettings) -> None:
        super().__init__(name="acquirer-link", daemon=True)
        self.loop = asyncio.new_event_loop()
        self._settings = settings
        self._up = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None
        self._pending = _PendingMessages()
        self._failures = 0  # consecutive attempts without a sign-on
        self._trace_numbers = itertools.cycle(range(1, 1_000_000))
        self._keeping: asyncio.Task[None] | None = None

    def run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self._keeping = self.loop.create_task(self._reconnect_forever())
        with contextlib.suppress(asyncio.CancelledError):
            self.loop.run_until_complete(self._keeping)
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()

    def stop(self) -> None:
        """Sign off and stop. Called from another thread."""
        if self.is_alive():
            asyncio.run_coroutine_threadsafe(self._sign_off(), self.loop)
            self.join(self._settings.timeout + GRACE)

    async def is_up(self, *, within: float) -> bool:
        try:
            # While the host is unavailable, don't wait for the next attempt to connect.
            async with asyncio.timeout(0 if self._failures else within):
                await self._up.wait()
        except TimeoutError:
            return False
        return True

    async def exchange(self, question: Message, framed: bytes, *, send_by: float) -> Message:
        is_sent = False
        try:
            async with asyncio.timeout(self._settings.timeout):
                await self._up.wait()
                is_sent = True
                return await self._ask(question, framed, send_by=send_by)
        except TimeoutError:
            # "from None", because the frames of the cause contain the message.
            if is_sent:
                raise Unanswered from None
            raise NotSent from None

    async def _ask(self, question: Message, framed: bytes, *, send_by: float = math.inf) -> Message:
        if self._writer is None:
            raise Unanswered
        with self._pending.asked(question) as answer:
            # Write directly after this check, because the process may be suspended at any point.
            if clock.steady() >= send_by:
                raise NotSent
            try:
                self._writer.write(framed)
                await self._writer.drain()
            except OSError:
                raise Unanswered from None
            return await answer

    async def _reconnect_forever(self) -> None:
        while True:
            try:
                await self._one_connection()
            except (OSError, EOFError, InvalidFrame, SignOnRefused, Unanswered) as reason:
                failure = f"{type(reason).__name__}: {reason}"
            self._failures = 0 if self._up.is_set() else self._failures + 1
            self._drop()
            pause = min(SHORTEST_PAUSE * 2 ** min(self._failures, 10), LONGEST_PAUSE)
            pause *= JITTER.uniform(0.5, 1)
            log.warning("connection to the acquirer ended", reason=failure, next_try_in=round(pause, 1))
            await asyncio.sleep(pause)

    async def _one_connection(self) -> None:
        """Connect, sign on and stay connected. Always ends with an exception."""
        async with asyncio.timeout(CONNECT_TIMEOUT):
            reader, self._writer = await asyncio.open_connection(
                self._settings.host,
                self._settings.port,
                ssl=ssl.create_default_context() if self._settings.uses_tls else None,
            )
        _end_when_unacknowledged(self._writer)
        tasks = {asyncio.create_task(self._listen(reader)), asyncio.create_task(self._stay_signed_on())}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _stay_signed_on(self) -> None:
        answer = await self._ask_host(SIGN_ON)
        if answer.response_code != ACCEPTED:
            raise SignOnRefused(answer.response_code)
        self._up.set()
        self._failures = 0
        log.info("signed on to the acquirer", host=self._settings.host, port=self._settings.port)
        while True:
            await asyncio.sleep(self._settings.echo_interval)
            await self._ask_host(ECHO)

    async def _ask_host(self, purpose: str) -> Message:
        question = network_request(purpose, stan=f"{next(self._trace_numbers):06}", now=datetime.now(UTC))
        async with asyncio.timeout(self._settings.timeout):
            return await self._ask(question, frame(question))

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while True:
            length = int.from_bytes(await reader.readexactly(LENGTH_BYTES))
            if length > LONGEST:
                raise InvalidFrame(f"a frame of {length} bytes")
            async with asyncio.timeout(REST_OF_FRAME):
                received = await reader.readexactly(length)
            if received:  # some hosts send an empty frame to keep a connection open
                self._handle_message(without_secrets(unpack(received)))

    def _handle_message(self, message: Message) -> None:
        if message.type == "0800" and self._writer is not None:
            self._writer.write(frame(answer_to(message, ACCEPTED)))
        elif not self._pending.answer(message):
            # Late, duplicate or unrelated. The authorisation of a late answer is reversed.
            log.warning("unexpected answer from the acquirer", message=str(message))

    async def _sign_off(self) -> None:
        with contextlib.suppress(TimeoutError, Unanswered):
            await self._ask_host(SIGN_OFF) if self._up.is_set() else None
        self._drop()
        if self._keeping is not None:
            self._keeping.cancel()

    def _drop(self) -> None:
        self._up.clear()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._pending.give_up()


def _end_when_unacknowledged(writer: asyncio.StreamWriter) -> None:
    """Close the connection if the host doesn't acknowledge data in time, so that it can't arrive later."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        milliseconds = int(ACKNOWLEDGED_WITHIN * 1000)
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)


class _PendingMessages:
    """Messages that await an answer, by class, STAN and RRN."""

    def __init__(self) -> None:
        self._waiting: defaultdict[tuple[str, str, str], list[tuple[Message, asyncio.Future[Message]]]]
        self._waiting = defaultdict(list)

    @contextlib.contextmanager
    def asked(self, question: Message) -> "Iterator[asyncio.Future[Message]]":
        """Yield the future answer of a message that is about to be sent."""
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        entry = (question, answer)
        self._waiting[question.match_key].append(entry)
        try:
            yield answer
        finally:
            self._waiting[question.match_key].remove(entry)
            if not self._waiting[question.match_key]:
                del self._waiting[question.match_key]

    def answer(self, message: Message) -> bool:
        """Pass a message to all its waiting exchanges. Returns False if there are none."""
        is_expected = False
        for question, answer in self._waiting.get(message.match_key, ()):
            if message.answers(question) and not answer.done():
                answer.set_result(message)
                is_expected = True
        return is_expected

    def give_up(self) -> None:
        """Raise `Unanswered` in all waiting exchanges."""
        for waiting in self._waiting.values():
            for _, answer in waiting:
                if not answer.done():
                    answer.set_exception(Unanswered())
