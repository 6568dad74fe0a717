import threading
import time

import pytest
from celery import current_app

from webhooks import wake_up


@pytest.fixture(autouse=True)
def signals(monkeypatch):
    """Send real signals, in place of the fixture that only records them."""
    has_worker = threading.Event()
    has_worker.set()
    monkeypatch.setattr(wake_up, "_has_local_worker", has_worker)


class TestNotify:
    def test_returns_at_once_and_coalesces_signals(self, monkeypatch):
        sent, done = [], threading.Event()

        def send_slowly(name, **options):
            sent.append((name, options["retry"]))
            done.wait(0.2)

        monkeypatch.setattr(current_app, "send_task", send_slowly)

        started = time.monotonic()
        for _ in range(1000):
            wake_up.notify()
        took = time.monotonic() - started
        time.sleep(0.5)

        assert took < 0.2
        assert 1 <= len(sent) <= 3
        assert set(sent) == {("webhooks.dispatcher", False)}

    def test_survives_an_unavailable_broker(self, monkeypatch):
        tried = []

        def fail(name, **options):
            tried.append(name)
            raise ConnectionError

        monkeypatch.setattr(current_app, "send_task", fail)
        monkeypatch.setattr(wake_up, "BROKEN_PAUSE", 0.01)

        wake_up.notify()
        time.sleep(0.2)
        wake_up.notify()
        time.sleep(0.2)

        assert len(tried) == 2

    def test_sends_nothing_without_a_worker(self, monkeypatch, settings):
        settings.REDIS_URL = ""
        monkeypatch.setattr(wake_up, "_has_local_worker", threading.Event())
        tried = []
        monkeypatch.setattr(current_app, "send_task", lambda name, **options: tried.append(name))

        wake_up.notify()
        time.sleep(0.1)

        assert tried == []
