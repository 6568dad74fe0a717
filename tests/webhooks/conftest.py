"""Fixtures for webhooks: wake-up signals are recorded, not sent."""

import pytest

from webhooks import wake_up


@pytest.fixture(autouse=True)
def signals(monkeypatch):
    """Return a list that grows with each wake-up signal."""
    sent = []
    monkeypatch.setattr(wake_up, "notify", lambda: sent.append(True))
    return sent
