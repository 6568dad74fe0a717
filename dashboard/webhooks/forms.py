"""Forms of the webhook pages."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Q, QuerySet

from dashboard.transactions.filters import validate_day
from dashboard.ui.filter_choices import choices
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


class DeliveryFilter(forms.Form):
    """Filter deliveries by state, event, day (UTC) and subject."""

    q = forms.CharField(required=False, max_length=100, label="Search")
    state = forms.ChoiceField(required=False, choices=choices(Delivery.State.choices))
    event = forms.ChoiceField(required=False, choices=[("", "All"), *Event.choices])
    since = forms.DateField(required=False, label="From")
    until = forms.DateField(required=False, label="To")

    def clean_since(self) -> Any:
        return validate_day(self.cleaned_data["since"])

    def clean_until(self) -> Any:
        return validate_day(self.cleaned_data["until"])

    def deliveries(self, business: Business) -> QuerySet[Delivery]:
        """Return the matching deliveries. The form must be valid."""
        wanted = self.cleaned_data
        found: QuerySet[Delivery] = Delivery.objects.filter(business=business)
        for name in ("state", "event"):
            if wanted[name]:
                found = found.filter(**{name: wanted[name]})
        if wanted["since"]:
            found = found.filter(created_at__gte=beginning(wanted["since"]))
        if wanted["until"]:
            found = found.filter(created_at__lt=beginning(wanted["until"]) + timedelta(days=1))
        return found.filter(_about(wanted["q"], business)) if wanted["q"] else found


def _about(text: str, business: Business) -> Q:
    """Return the condition of a search by event ID, or by the ID or reference of the event's subject."""
    try:
        key = UUID(text)
    except ValueError:
        return Q(subject__in=outcomes_with_reference(business, text))
    return Q(pk=key) | Q(subject__in=[key, *outcomes_of_transaction(key)])


class ReplayForm(forms.Form):
    """A range of deliveries to resend. Days are UTC."""

    state = forms.ChoiceField(
        choices=[(state, Delivery.State(state).label) for state in REPLAYABLE], initial=Delivery.State.DEAD
    )
    since = forms.DateField(label="From")
    until = forms.DateField(label="To")

    def clean_since(self) -> Any:
        return validate_day(self.cleaned_data["since"])

    def clean_until(self) -> Any:
        return validate_day(self.cleaned_data["until"])

    @property
    def moments(self) -> tuple[datetime, datetime]:
        given = self.cleaned_data
        return beginning(given["since"]), beginning(given["until"]) + timedelta(days=1)


def beginning(day: Any) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)
