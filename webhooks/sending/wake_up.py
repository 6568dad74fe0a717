"""Wake-up signals for senders of webhooks: an event has just been published.

`notify` never fails and never blocks. With Redis, a background thread publishes one message for all calls since its
last one, and every sender receives it. Without, the sender of this process is called. Senders also poll every second, so
a lost signal costs at most that.
"""

import asyncio
import threading
import time
from collections.abc import Callable

import structlog
from django.conf import settings

log = structlog.get_logger("sluice.webhooks")

CHANNEL = "sluice.webhooks"
PAUSE = 1.0  # seconds after an error of Redis
SILENCE = 60.0  # seconds after which a silent connection is replaced: the network may have dropped it

_listening: dict[
    Callable[[], object], asyncio.AbstractEventLoop
] = {}  # senders of this process, without Redis


def notify() -> None:
    """Make senders look for due deliveries now. Repeated calls are coalesced."""
    if settings.REDIS_URL:
        _publisher.request()
        return
    for wake, loop in list(_listening.items()):
        if not loop.is_closed():
            loop.call_soon_threadsafe(wake)


async def listen(wake: Callable[[], object]) -> None:
    """Call `wake` for each signal, until cancelled."""
    if settings.REDIS_URL:
        await _subscribe(wake)
    _listening[wake] = asyncio.get_running_loop()
    try:
        await asyncio.Event().wait()
    finally:
        del _listening[wake]


async def _subscribe(wake: Callable[[], object]) -> None:
    from redis.asyncio import Redis, RedisError  # noqa: PLC0415  (a sandbox needs no Redis)

    while True:
        try:
            async with Redis.from_url(settings.REDIS_URL, socket_connect_timeout=2) as redis:
                signals = redis.pubsub()
                await signals.subscribe(CHANNEL)
                # The first message confirms the subscription. A signal may have been lost before.
                while await signals.get_message(timeout=SILENCE):
                    wake()
        except (RedisError, OSError) as error:
            log.warning("wake-up signals cannot be received", error=type(error).__name__)
            await asyncio.sleep(PAUSE)


class _Publisher:
    """Publishes signals from a thread of its own, which is started again after a fork."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def request(self) -> None:
        self._requested.set()
        if not self._is_running():
            with self._lock:
                if not self._is_running():
                    self._thread = threading.Thread(target=self._publish, name="webhook-wake-up", daemon=True)
                    self._thread.start()

    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _publish(self) -> None:
        from redis import Redis, RedisError  # noqa: PLC0415  (a sandbox needs no Redis)

        redis = Redis.from_url(settings.REDIS_URL, socket_timeout=5, socket_connect_timeout=2)
        while True:
            self._requested.wait()
            self._requested.clear()
            try:
                redis.publish(CHANNEL, "")
            except RedisError as error:  # polling finds the event
                log.warning("wake-up signal could not be sent", error=type(error).__name__)
                time.sleep(PAUSE)


_publisher = _Publisher()
