"""What the project itself keeps in the database."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models

INTERVAL = timedelta(seconds=5)  # between two heartbeats
LATE_AFTER = timedelta(seconds=30)  # without one: schedule, broker or worker stands still


class Heartbeat(models.Model):
    """When a worker last did what the schedule asked for: a sign of life of schedule, broker and worker at once."""

    name = models.CharField(primary_key=True, max_length=32)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


def beat(*, now: datetime) -> None:
    """Say that the workers live."""
    Heartbeat.objects.update_or_create(name="worker", defaults={"at": now})


def last_beat() -> datetime | None:
    """Return when the workers last lived, or None where they never did."""
    return Heartbeat.objects.filter(name="worker").values_list("at", flat=True).first()
