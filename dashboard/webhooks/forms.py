"""Forms of the webhook pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django import forms

from dashboard.ui.forms.forms import PageForm
from webhooks import versions
from webhooks.models import (
    CATEGORIES,
    DEFAULT_CATEGORIES,
    SUBSCRIPTIONS,
    Category,
    Delivery,
    Endpoint,
    Event,
)
from webhooks.services import LONGEST_OVERLAP, REPLAYABLE

FIRST_YEAR, END_YEAR = 2000, 3000
MILLISECOND = timedelta(milliseconds=1)


def _category_box(category: Category) -> forms.BooleanField:
    """Return the checkbox of a category, with its events as the hint."""
    names = [str(event.label) for event in Event if CATEGORIES[event] == category]
    return forms.BooleanField(label=category.label, help_text=", ".join(names), required=False)


class EndpointForm(PageForm):
    """Settings of the endpoint. `webhooks.services.configure` validates the URL."""

    url = forms.CharField(
        label="Webhook URL",
        max_length=2048,
        error_messages={"required": "Enter a webhook URL."},
    )
    payment = _category_box(Category.PAYMENT)
    payout = _category_box(Category.PAYOUT)
    refund = _category_box(Category.REFUND)
    reversal = _category_box(Category.REVERSAL)
    unapplied = _category_box(Category.UNAPPLIED)
    settlement = _category_box(Category.SETTLEMENT)
    account = _category_box(Category.ACCOUNT)
    payout_batch = _category_box(Category.PAYOUT_BATCH)
    dispute = _category_box(Category.DISPUTE)
    balance = _category_box(Category.BALANCE)
    enabled = forms.BooleanField(label="Enabled", required=False)

    @property
    def categories(self) -> list[forms.BoundField]:
        return [self[category] for category in Category.values]

    @property
    def subscribed_events(self) -> list[str]:
        return [category for category in Category.values if self.cleaned_data.get(category)]


class FullEndpointForm(PageForm):
    """All settings of an endpoint. `webhooks.endpoints.endpoint_changes` validates the URL."""

    url = forms.CharField(
        label="Webhook URL", max_length=2048, error_messages={"required": "Enter a webhook URL."}
    )
    description = forms.CharField(
        label="Description", max_length=255, required=False, help_text="Shown on pages only."
    )
    events = forms.MultipleChoiceField(
        label="Events",
        choices=[(word, word) for word in SUBSCRIPTIONS],
        error_messages={"required": "Choose at least one event."},
    )
    standard_webhooks = forms.BooleanField(label="Standard Webhooks headers", required=False)
    api_version = forms.ChoiceField(
        label="Version",
        choices=[(version, version) for version in reversed(versions.VERSIONS)],
        help_text="The version of the shape of events.",
    )
    enabled = forms.BooleanField(label="Enabled", required=False)

    @property
    def groups(self) -> list[EventGroup]:
        """Return the categories with their events, as checkboxes."""
        chosen = self["events"].value() or []
        return [
            EventGroup(
                _EventBox(category.value, str(category.label), category.value in chosen),
                [
                    _EventBox(event.label, event.label, event.label in chosen)
                    for event in Event
                    if CATEGORIES[event] == category
                ],
            )
            for category in Category
        ]

    @property
    def values(self) -> dict[str, Any]:
        """Return the settings as `endpoint_changes` takes them. The form must be valid."""
        given = dict(self.cleaned_data)
        given["subscribed_events"] = given.pop("events")
        return given


@dataclass(frozen=True, slots=True)
class _EventBox:
    """A checkbox of a category or of an event."""

    word: str
    label: str
    is_checked: bool


@dataclass(frozen=True, slots=True)
class EventGroup:
    """A category, and its events to choose one by one."""

    all: _EventBox
    single: list[_EventBox]

    @property
    def is_open(self) -> bool:
        return any(box.is_checked for box in self.single)


class RotationForm(PageForm):
    """How long the old signing key signs beside the new one."""

    overlap_hours = forms.IntegerField(
        label="Hours in which the old key also signs",
        required=False,
        min_value=0,
        max_value=LONGEST_OVERLAP // timedelta(hours=1),
        initial=0,
    )

    @property
    def overlap(self) -> timedelta:
        return timedelta(hours=self.cleaned_data["overlap_hours"] or 0)


def initial(endpoint: Endpoint | None) -> dict[str, Any]:
    """Return the form's initial values: a new endpoint is enabled and has the default subscriptions."""
    chosen = DEFAULT_CATEGORIES if endpoint is None else endpoint.subscribed_events
    subscribed = {category: category in chosen for category in Category.values}
    if endpoint is None:
        return {"url": "", "enabled": True, **subscribed}
    return {"url": endpoint.url, "enabled": endpoint.enabled, **subscribed}


def all_settings(endpoint: Endpoint | None) -> dict[str, Any]:
    """Return the initial values of a form with all settings."""
    if endpoint is None:
        return {"events": list(DEFAULT_CATEGORIES), "api_version": versions.NEWEST, "enabled": True}
    names = ("url", "description", "standard_webhooks", "api_version", "enabled")
    return {"events": endpoint.subscribed_events, **{name: getattr(endpoint, name) for name in names}}


class ReplayForm(PageForm):
    """A range of deliveries to resend. Times are in the active time zone; a day stands for all of it."""

    state = forms.ChoiceField(
        choices=[(state, Delivery.STATE_NAMES[state]) for state in REPLAYABLE],
        initial=Delivery.State.DEAD,
        help_text="Stopped: the last automatic attempt failed. Held: the endpoint is off.",
    )
    since = forms.DateTimeField(label="From", required=False)
    until = forms.DateTimeField(label="To", required=False)

    def clean_since(self) -> datetime | None:
        return _validate_moment(self.cleaned_data["since"])

    def clean_until(self) -> datetime | None:
        until = _validate_moment(self.cleaned_data["until"])
        is_day = until is not None and len(str(self.data["until"]).strip()) == len("2026-01-31")
        return until + timedelta(days=1) - MILLISECOND if until and is_day else until


def _validate_moment(moment: datetime | None) -> datetime | None:
    if moment is not None and not FIRST_YEAR <= moment.year < END_YEAR:
        raise forms.ValidationError("Enter a date from 2000 to 2999.")
    return moment
