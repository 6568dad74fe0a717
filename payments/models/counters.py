"""Counters that processes take numbers from."""

from django.db import models


class TraceCounter(models.Model):
    """How many trace numbers were taken; processes take them in blocks."""

    STAN = "stan"

    name = models.CharField(primary_key=True, max_length=20)
    taken = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.name}: {self.taken}"
