"""Forms of the webhook pages."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django import forms
from django.db.models import Q, QuerySet

from dashboard.ui.list_filters import PeriodFilter, PeriodForm, choices
from merchants.models import Business
from payments.services.event_subjects import outcomes_of_transaction, outcomes_with_reference
from webhooks.models import DEFAULT_CATEGORIES, Category, Delivery, Endpoint, Event
from webhooks.services import REPLAYABLE


class EndpointForm(forms.Form):
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


def initial(endpoint: Endpoint | None) -> dict[str, Any]:
    """Return the form's initial values: a new endpoint is enabled and has the default subscriptions."""
    chosen = DEFAULT_CATEGORIES if endpoint is None else endpoint.subscribed_events
    subscribed = {category: category in chosen for category in Category.values}
    if endpoint is None:
        return {"url": "", "enabled": True, **subscribed}
    return {"url": endpoint.url, "enabled": endpoint.enabled, **subscribed}


class DeliveryFilter(PeriodFilter):
    """Filter deliveries by state, event, day (UTC) and subject."""

    q = forms.CharField(required=False, max_length=100, label="Search")
    state = forms.ChoiceField(required=False, choices=choices([*Delivery.STATE_NAMES.items()]))
    event = forms.ChoiceField(required=False, choices=[("", "All"), *Event.choices])

    field_order = ("q", "state", "event", "since", "until")

    def deliveries(self, business: Business) -> QuerySet[Delivery]:
        """Return the matching deliveries. The form must be valid."""
        wanted = self.cleaned_data
        found: QuerySet[Delivery] = Delivery.objects.filter(business=business)
        for name in ("state", "event"):
            if wanted[name]:
                found = found.filter(**{name: wanted[name]})
        if self.begin:
            found = found.filter(created_at__gte=self.begin)
        if self.end:
            found = found.filter(created_at__lt=self.end)
        return found.filter(_about(wanted["q"], business)) if wanted["q"] else found


def _about(text: str, business: Business) -> Q:
    """Return the condition of a search by event ID, or by the ID or reference of the event's subject."""
    try:
        key = UUID(text)
    except ValueError:
        return Q(subject__in=outcomes_with_reference(business, text))
    return Q(pk=key) | Q(subject__in=[key, *outcomes_of_transaction(key)])


class ReplayForm(PeriodForm):
    """A range of deliveries to resend. Days are UTC."""

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
