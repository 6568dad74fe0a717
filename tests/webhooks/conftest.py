"""Fixtures for webhooks: wake-up signals are recorded, not sent, and the garbage collector stays as it is."""

import gc

import pytest

from webhooks.sending import wake_up

NOTIFY = wake_up.notify


@pytest.fixture
def notify():
    """Return the function that sends real signals."""
    return NOTIFY


@pytest.fixture(autouse=True)
def signals(monkeypatch):
    """Return a list that grows with each wake-up signal."""
    sent = []
    monkeypatch.setattr(wake_up, "notify", lambda: sent.append(True))
    return sent


@pytest.fixture(autouse=True)
def _same_garbage_collection():
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
