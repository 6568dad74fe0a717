"""A clock that tests can set, for both the process and the database."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from kit.db import clock as clocks


class Clock:
    """The time of `timezone.now()` and of the database's clock. It stands still until the test advances it."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def advance(self, **by: float) -> datetime:
        self.now += timedelta(**by)
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    stopped = Clock(timezone.now())
    monkeypatch.setattr(timezone, "now", lambda: stopped.now)
    monkeypatch.setattr(clocks, "_ask_database", lambda: stopped.now)
    return stopped
