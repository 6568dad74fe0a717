"""Forms of the webhook pages."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, cast

from django import forms

from dashboard.ui.forms import PageForm
from dashboard.ui.lists.list_filters import PeriodForm
from webhooks.models import DEFAULT_CATEGORIES, Category, Delivery, Endpoint
from webhooks.services import LONGEST_OVERLAP, REPLAYABLE


class EndpointForm(PageForm):
    """Settings of the endpoint. `webhooks.services.configure` validates the URL."""

    url = forms.CharField(
        label="Webhook URL",
        max_length=2048,
        error_messages={"required": "Enter a webhook URL."},
    )
    payment = forms.BooleanField(label=Category.PAYMENT.label, required=False)
    payout = forms.BooleanField(label=Category.PAYOUT.label, required=False)
    refund = forms.BooleanField(label=Category.REFUND.label, required=False)
    reversal = forms.BooleanField(label=Category.REVERSAL.label, required=False)
    unapplied = forms.BooleanField(label=Category.UNAPPLIED.label, required=False)
    settlement = forms.BooleanField(label=Category.SETTLEMENT.label, required=False)
    enabled = forms.BooleanField(label="Enabled", required=False)

    @property
    def categories(self) -> list[forms.BoundField]:
        return [self[category] for category in Category.values]

    @property
    def subscribed_events(self) -> list[str]:
        return [category for category in Category.values if self.cleaned_data.get(category)]


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


class ReplayForm(PeriodForm):
    """A range of deliveries to resend. Days are in the active time zone."""

    state = forms.ChoiceField(
        choices=[(state, Delivery.STATE_NAMES[state]) for state in REPLAYABLE], initial=Delivery.State.DEAD
    )
    since = forms.DateField(label="From")
    until = forms.DateField(label="To")

    field_order = ("state", "since", "until")

    @property
    def moments(self) -> tuple[datetime, datetime]:
        """Return the first moment of the period, and the first one after it. The form must be valid."""
        return cast("tuple[datetime, datetime]", (self.begin, self.end))  # both days are required
