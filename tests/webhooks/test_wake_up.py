import asyncio
import shutil
import socket
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest

from tests.faults.processes import Redis, wait_until
from tests.journeys.service import wait_until_open
from webhooks.sending import wake_up


@contextmanager
def sender():
    """Listen in a thread of its own; yield a list that grows with each signal."""
    woken, loop = [], asyncio.new_event_loop()
    listening = loop.create_task(wake_up.listen(lambda: woken.append(time.monotonic())))
    listening.add_done_callback(lambda _: loop.stop())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    time.sleep(0.1)
    try:
        yield woken
    finally:
        loop.call_soon_threadsafe(listening.cancel)
        thread.join()
        loop.close()


@pytest.fixture
def redis(settings, tmp_path, monkeypatch):
    """Run a Redis server, and publish anew, because a test's server has its own address."""
    if not shutil.which("redis-server"):
        pytest.skip("redis-server is not installed")
    server = Redis(tmp_path)
    settings.REDIS_URL = f"redis://127.0.0.1:{server.port}/0"
    monkeypatch.setattr(wake_up, "PAUSE", 0.1)
    monkeypatch.setattr(wake_up, "_publisher", wake_up._Publisher())
    server.start()
    wait_until_open(server.port, server.running)
    yield server
    server.kill()


class TestWithoutRedis:
    def test_wakes_the_sender_of_its_process(self, settings, notify):
        settings.REDIS_URL = ""
        with sender() as woken:
            notify()
            wait_until(lambda: len(woken) == 1, what="a signal")

    def test_does_nothing_without_a_sender(self, settings, notify):
        settings.REDIS_URL = ""
        with sender():
            pass

        notify()

        assert not wake_up._listening


class TestWithRedis:
    def test_wakes_every_sender(self, redis, notify):
        with ExitStack() as stack:
            senders = [stack.enter_context(sender()) for _ in range(2)]
            wait_until(lambda: all(senders), what="their subscriptions, which wake them too")
            for woken in senders:
                woken.clear()
            notify()
            wait_until(lambda: all(senders), what="the signal")

            assert [len(woken) for woken in senders] == [1, 1]

    def test_returns_at_once_and_coalesces_signals(self, redis, notify):
        with sender() as woken:
            wait_until(lambda: woken, what="the subscription")
            started = time.monotonic()
            for _ in range(2000):
                notify()
            took = time.monotonic() - started
            time.sleep(0.3)

        assert took < 0.2
        assert 2 <= len(woken) < 1000

    def test_starts_one_thread_for_concurrent_first_signals(self, redis, monkeypatch, notify):
        started = []
        is_running, publish = wake_up._Publisher._is_running, wake_up._Publisher._publish

        def is_running_slowly(publisher):
            is_it = is_running(publisher)
            time.sleep(0.01)  # without the lock, another thread starts one meanwhile
            return is_it

        monkeypatch.setattr(wake_up._Publisher, "_is_running", is_running_slowly)
        monkeypatch.setattr(
            wake_up._Publisher, "_publish", lambda self: (started.append(True), publish(self))
        )
        threads = [threading.Thread(target=notify) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len(started) == 1

    def test_wakes_a_sender_again_after_redis_was_restarted(self, redis, notify):
        with sender() as woken:
            wait_until(lambda: woken, what="the subscription")
            redis.kill()
            notify()
            woken.clear()
            redis.start()
            wait_until(lambda: woken, what="the new subscription")
            woken.clear()
            wait_until(lambda: notify() or woken, what="a signal")

    def test_replaces_a_connection_that_is_silent(self, redis, monkeypatch):
        monkeypatch.setattr(wake_up, "SILENCE", 0.1)
        with sender() as woken:
            wait_until(lambda: len(woken) >= 3, what="new subscriptions")

    def test_does_not_wait_for_a_redis_that_does_not_answer(self, settings, monkeypatch, notify):
        monkeypatch.setattr(wake_up, "_publisher", wake_up._Publisher())
        with socket.create_server(("127.0.0.1", 0)) as frozen:
            settings.REDIS_URL = f"redis://127.0.0.1:{frozen.getsockname()[1]}/0"
            started = time.monotonic()
            notify()
            notify()

            assert time.monotonic() - started < 0.2
