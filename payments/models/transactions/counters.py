"""Counters from which processes reserve numbers."""

from django.db import models


class TraceCounter(models.Model):
    """The trace numbers reserved so far (`payments/trace_numbers.py`). Processes reserve them in blocks."""

    STAN = "stan"

    name = models.CharField(primary_key=True, max_length=20)
    taken = models.BigIntegerField(default=0)
    # The hour of the last reservation, in hours since 1970, and the value of `taken` at its beginning.
    hour = models.BigIntegerField(default=0, db_default=0)
    hour_start = models.BigIntegerField(default=0, db_default=0)
    # The database server of the last reservation: its cluster and timeline.
    server = models.CharField(max_length=40, default="", db_default="")

    def __str__(self) -> str:
        return f"{self.name}: {self.taken}"
