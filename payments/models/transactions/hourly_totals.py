"""Totals by hour of past days (UTC), for charts and figures over many days in any time zone."""

from typing import ClassVar

from django.db import models

from merchants.models import Business


class CountedDay(models.Model):
    """A day (UTC) whose totals are complete for all businesses. Businesses without transactions have no row."""

    day = models.DateField(primary_key=True)

    def __str__(self) -> str:
        return self.day.isoformat()


class HourlyTotals(models.Model):
    """Totals of a business's transactions that were created on one day (UTC), by hour.

    Contains counts of finished transactions, which are final, and the ids of unfinished ones; see decision 0051. A row
    has all hours of its day, so that one read sees each transaction at one moment.
    """

    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    day = models.ForeignKey(CountedDay, on_delete=models.PROTECT, related_name="+", db_column="day")
    tallies = models.JSONField()  # of finished transactions; see `payments.services.reporting.daily_totals`
    unfinished = models.JSONField()  # ids of the other transactions, which are queried each time

    class Meta:
        verbose_name_plural = "hourly totals"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["business", "day"], name="one_row_of_hours_per_business_and_day"),
        ]

    def __str__(self) -> str:
        return f"{self.business_id} on {self.day_id}"
