"""A clock that tests can move."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone


class Clock:
    """What `timezone.now()` answers; it stands still until the test moves it."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def advance(self, **by: float) -> datetime:
        self.now += timedelta(**by)
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    stopped = Clock(timezone.now())
    monkeypatch.setattr(timezone, "now", lambda: stopped.now)
    return stopped
