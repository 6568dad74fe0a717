"""Filters of lists: forms that are sent with GET, drawn by `components/filters.html`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from django import forms


def choices(values: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the options of a filter, with "All" first.

    >>> choices([("partially_refunded", "partially refunded")])
    [('', 'All'), ('partially_refunded', 'Partially refunded')]
    """
    return [("", "All"), *((value, label.capitalize()) for value, label in values)]


class ListFilter(forms.Form):
    """A filter of a list."""

    @property
    def is_filtered(self) -> bool:
        """Return whether the query has any value, be it a filter or the page of the list."""
        return any(self.data.values())


class PeriodForm(forms.Form):
    """A period of whole days in UTC. Days outside the range of ids are rejected."""

    since = forms.DateField(required=False, label="From")
    until = forms.DateField(required=False, label="To")

    def clean_since(self) -> date | None:
        return _validate_day(self.cleaned_data["since"])

    def clean_until(self) -> date | None:
        return _validate_day(self.cleaned_data["until"])

    @property
    def begin(self) -> datetime | None:
        """Return the first moment of the period; None if it is open. The form must be valid."""
        since = self.cleaned_data["since"]
        return _midnight(since) if since else None

    @property
    def end(self) -> datetime | None:
        """Return the first moment after the period; None if it is open. The form must be valid."""
        until = self.cleaned_data["until"]
        return _midnight(until + timedelta(days=1)) if until else None


class PeriodFilter(PeriodForm, ListFilter):
    """A filter of a list by days."""


def _validate_day(day: date | None) -> date | None:
    if day is not None and not date(2000, 1, 1) <= day <= date(2999, 12, 31):
        raise forms.ValidationError("Enter a date from 2000 to 2999.")
    return day


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)
