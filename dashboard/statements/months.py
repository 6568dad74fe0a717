"""Months of a business, in its time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from django.urls import register_converter

from kit.time.time_zones import day_begins
from merchants.models import Business
from payments.services.reporting.monthly_statement import first_booking


@dataclass(frozen=True, slots=True, order=True)
class Month:
    """A month of the calendar.

    >>> december = Month(2026, 12)
    >>> str(december), december.name, str(december.next), str(Month(2026, 1).previous)
    ('2026-12', 'December 2026', '2027-01', '2025-12')
    """

    year: int
    month: int

    @classmethod
    def of(cls, day: date) -> Month:
        return cls(day.year, day.month)

    @property
    def day(self) -> date:
        """Return its first day."""
        return date(self.year, self.month, 1)

    @property
    def name(self) -> str:
        return f"{self.day:%B %Y}"

    @property
    def next(self) -> Month:
        return Month(self.year + self.month // 12, self.month % 12 + 1)

    @property
    def previous(self) -> Month:
        return Month(self.year - (self.month == 1), (self.month - 2) % 12 + 1)

    def begins(self, zone: ZoneInfo) -> datetime:
        return day_begins(self.day, zone)

    def ends(self, zone: ZoneInfo) -> datetime:
        """Return the first moment after it."""
        return self.next.begins(zone)

    def is_over(self, zone: ZoneInfo, *, now: datetime) -> bool:
        return self.ends(zone) <= now

    def __str__(self) -> str:
        return f"{self.year:04}-{self.month:02}"


class MonthConverter:
    """A month in a URL, such as 2026-11."""

    regex = r"20\d\d-(?:0[1-9]|1[0-2])"

    def to_python(self, value: str) -> Month:
        year, _, month = value.partition("-")
        return Month(int(year), int(month))

    def to_url(self, value: Month) -> str:
        return str(value)


register_converter(MonthConverter, "month")


def months_of(business: Business, *, now: datetime) -> list[Month]:
    """Return the months from the first booking of a business to the current one, newest first."""
    current = Month.of(now.astimezone(business.zone).date())
    first_at = first_booking(business)
    first = Month.of(first_at.astimezone(business.zone).date()) if first_at else current
    months = [current]
    while months[-1] > first:
        months.append(months[-1].previous)
    return months


def usual(months: list[Month], zone: ZoneInfo, *, now: datetime) -> Month:
    """Return the month that is shown first: the latest that is over, if there is one. `months`: newest first."""
    return next((each for each in months if each.is_over(zone, now=now)), months[0])
