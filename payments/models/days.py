"""Days that are over, counted once: what charts and figures of many days are made of."""

from typing import ClassVar

from django.db import models

from merchants.models import Business


class RolledDay(models.Model):
    """A day (UTC) that is counted, for all businesses. Those without transactions have no totals."""

    day = models.DateField(primary_key=True)

    def __str__(self) -> str:
        return self.day.isoformat()


class DayTotals(models.Model):
    """What a business's transactions of a day come to. What it says stays true whatever happens later.

    It counts what had finished, which is final, and names what had not; see decision 0036.
    """

    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    day = models.ForeignKey(RolledDay, on_delete=models.PROTECT, related_name="+", db_column="day")
    tallies = models.JSONField()  # of the finished ones; see `payments.services.reporting.daily_totals`
    unfinished = models.JSONField()  # ids of the others, which are looked up each time

    class Meta:
        verbose_name_plural = "day totals"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["business", "day"], name="one_total_per_business_and_day"),
        ]

    def __str__(self) -> str:
        return f"{self.business_id} on {self.day_id}"
