"""Holidays of banks, by currency. Staff edit them. No settlement payout is made, and no statement is due, on one."""

from datetime import date
from typing import ClassVar

from django.core.exceptions import ValidationError
from django.db import models

from kit.db.card_number_fields import FreeTextField
from kit.money.money import has_minor_unit


class Holiday(models.Model):
    """A day on which banks of a currency are closed, besides Saturdays and Sundays."""

    currency = models.CharField(max_length=3, help_text="ISO 4217.")
    day = models.DateField()
    name = FreeTextField(max_length=100)
    is_observed = models.BooleanField(
        "observed", default=True, help_text="Unticked: banks are open on this day."
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["currency", "day"], name="one_holiday_per_currency_and_day"),
        ]

    def __str__(self) -> str:
        return f"{self.name}, {self.currency} {self.day:%-d %b %Y}"

    @classmethod
    def days_of(cls, currency: str, *, since: date) -> frozenset[date]:
        """Return the days from one on, besides Saturdays and Sundays, on which banks of a currency are closed."""
        observed = cls.objects.filter(currency=currency, is_observed=True, day__gte=since)
        return frozenset(observed.values_list("day", flat=True))

    def clean(self) -> None:
        if not has_minor_unit(self.currency):
            raise ValidationError({"currency": "Enter an ISO 4217 currency such as NGN."})
