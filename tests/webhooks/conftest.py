"""Fixtures for webhooks: the doorbell is listened to, not rung."""

import pytest

from webhooks import wake_up


@pytest.fixture(autouse=True)
def rings(monkeypatch):
    """Return a list that grows with each ring."""
    heard = []
    monkeypatch.setattr(wake_up, "ring", lambda: heard.append(True))
    return heard
