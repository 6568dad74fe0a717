"""Models of the project itself."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models

INTERVAL = timedelta(seconds=5)  # between two heartbeats
LATE_AFTER = timedelta(
    seconds=30
)  # without a heartbeat, after which schedule, broker or worker count as stopped


class Heartbeat(models.Model):
    """The last time a worker ran a scheduled task, which shows that schedule, broker and worker are running."""

    name = models.CharField(primary_key=True, max_length=32)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


def beat(*, now: datetime) -> None:
    """Record a heartbeat of the workers."""
    Heartbeat.objects.update_or_create(name="worker", defaults={"at": now})


def last_beat() -> datetime | None:
    """Return the time of the last heartbeat, or None if there is none."""
    return Heartbeat.objects.filter(name="worker").values_list("at", flat=True).first()
