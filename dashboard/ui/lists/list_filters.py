"""Filters of lists: forms that are sent with GET, drawn by `components/chips.html`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms
from django.db.models import Model, QuerySet
from django.utils import timezone

from dashboard.ui.forms.field_choices import set_choices
from kit.time.time_ordered_ids import earliest_id
from kit.time.time_zones import day_begins
from merchants.models import Business

M = TypeVar("M", bound=Model)

TO = "\u2013"  # an en dash


def choices(values: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the options of a filter, with "All" first.

    >>> choices([("partially_refunded", "partially refunded")])
    [('', 'All'), ('partially_refunded', 'Partially refunded')]
    """
    return [("", "All"), *((value, label.capitalize()) for value, label in values)]


class ListFilter(forms.Form):
    """A filter of a list of a business. If it has a field `currency`, that offers the currencies of the business."""

    def __init__(self, *args: Any, business: Business, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.business = business
        if "currency" in self.fields:
            set_choices(self, "currency", [("", "All"), *((each, each) for each in business.currencies)])

    @property
    def is_filtered(self) -> bool:
        """Return whether the query has any value, be it a filter or the page of the list."""
        return any(self.data.values())

    @property
    def is_searched(self) -> bool:
        """Return whether a search text was typed."""
        return bool(self.data.get("q"))

    def shown(self, names: Sequence[str]) -> str:
        """Return the values of some fields as their chip shows them. Invalid values are left out."""
        given = [(name, self.cleaned_data.get(name)) for name in names] if self.is_bound else []
        return ", ".join(self._shown_value(name, value) for name, value in given if value)

    def _shown_value(self, name: str, value: Any) -> str:
        labels = dict(getattr(self.fields[name], "choices", ()))
        if isinstance(value, date):
            return f"{self.fields[name].label} {_day(value)}"
        return str(labels.get(value, value))


class PeriodForm(forms.Form):
    """A period of whole days in the active time zone. Days outside the range of ids are rejected."""

    since = forms.DateField(required=False, label="From")
    until = forms.DateField(required=False, label="To")

    def clean_since(self) -> date | None:
        return validate_day(self.cleaned_data["since"])

    def clean_until(self) -> date | None:
        return validate_day(self.cleaned_data["until"])

    @property
    def begin(self) -> datetime | None:
        """Return the first moment of the period; None if it is open. The form must be valid."""
        since = self.cleaned_data["since"]
        return midnight(since) if since else None

    @property
    def end(self) -> datetime | None:
        """Return the first moment after the period; None if it is open. The form must be valid."""
        until = self.cleaned_data["until"]
        return midnight(until + timedelta(days=1)) if until else None


class PeriodFilter(PeriodForm, ListFilter):
    """A filter of a list by days: chosen ones, or a period that moves with today."""

    PERIODS = (
        ("", "Any time"),
        ("today", "Today"),
        ("yesterday", "Yesterday"),
        ("7d", "Last 7 days"),
        ("30d", "Last 30 days"),
        ("month", "This month"),
        ("last-month", "Last month"),
    )

    period = forms.ChoiceField(required=False, choices=PERIODS, label="Period")

    @property
    def id_range(self) -> dict[str, UUID]:
        """Return the bounds of the ids in the period: `since` and `until`, if it has them. The form must be valid."""
        bounds = {"since": self.begin, "until": self.end}
        return {name: earliest_id(moment) for name, moment in bounds.items() if moment}

    def in_period(self, rows: QuerySet[M]) -> QuerySet[M]:
        """Return the rows of the period, by their ids, which begin with the time of creation and end every index."""
        lookups = {"since": "id__gte", "until": "id__lt"}
        return rows.filter(**{lookups[name]: key for name, key in self.id_range.items()})

    def clean(self) -> dict[str, Any]:
        """Set the days of a period. Chosen days take precedence, and the last one isn't before the first."""
        given = self.cleaned_data
        if given.get("since") and given.get("until") and given["since"] > given["until"]:
            self.add_error("until", "Enter the first day or a later one.")
        if given.get("period") and not (self.data.get("since") or self.data.get("until")):
            given["since"], given["until"] = _days_of(given["period"], today=timezone.localdate())
        return given

    def shown(self, names: Sequence[str]) -> str:
        if "since" not in names:
            return super().shown(names)
        given = self.cleaned_data
        if given.get("period") and not (self.data.get("since") or self.data.get("until")):
            return super().shown(("period",))
        since, until = given.get("since"), given.get("until")
        if since and until:
            return _day(since) if since == until else f"{_day(since)} {TO} {_day(until)}"
        return f"From {_day(since)}" if since else f"Until {_day(until)}" if until else ""


def _days_of(period: str, *, today: date) -> tuple[date, date | None]:
    """Return the first and last day of a period. Without a last day, it goes on.

    >>> today = date(2026, 11, 23)
    >>> [str(_days_of(each, today=today)[0]) for each in ("today", "7d", "30d", "month")]
    ['2026-11-23', '2026-11-17', '2026-10-25', '2026-11-01']
    >>> [str(day) for day in _days_of("last-month", today=date(2026, 1, 31))]
    ['2025-12-01', '2025-12-31']
    >>> [str(day) for day in _days_of("yesterday", today=date(2026, 3, 1))]
    ['2026-02-28', '2026-02-28']
    """
    yesterday = today - timedelta(days=1)
    if period == "yesterday":
        return yesterday, yesterday
    if period == "last-month":
        last = today.replace(day=1) - timedelta(days=1)
        return last.replace(day=1), last
    lengths = {"today": 1, "7d": 7, "30d": 30, "month": today.day}
    return today - timedelta(days=lengths[period] - 1), None


def _day(day: date) -> str:
    year = "" if day.year == timezone.localdate().year else f" {day.year}"
    return f"{day:%-d %b}{year}"


def validate_day(day: date | None) -> date | None:
    """Return a day of this millennium.

    :raises ValidationError: it is another one
    """
    if day is not None and not date(2000, 1, 1) <= day <= date(2999, 12, 31):
        raise forms.ValidationError("Enter a date from 2000 to 2999.")
    return day


def midnight(day: date) -> datetime:
    """Return when a day begins in the active time zone."""
    return day_begins(day, ZoneInfo(str(timezone.get_current_timezone())))
