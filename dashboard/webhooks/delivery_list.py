"""The list of deliveries, with its filter."""

from __future__ import annotations

from functools import cached_property
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Q, QuerySet

from dashboard.ui.chips import DAYS, ChipSpec
from dashboard.ui.lists.list_filters import PeriodFilter, choices
from dashboard.ui.lists.list_rows import ListRows
from dashboard.ui.lists.lists import ListSpec
from dashboard.ui.lists.pagination import BY_MOMENT
from dashboard.ui.lists.tabs import TabSpec
from kit.money.form_fields import PastedField
from merchants.models import Business
from payments.services.events.event_subjects import outcomes_of_transaction, outcomes_with_reference
from webhooks.models import RARE_EVENTS, Delivery, Event

State = Delivery.State


class DeliveryFilter(ListRows, PeriodFilter):
    """Search, state, event and days of creation."""

    q = PastedField(required=False, max_length=100, label="Search")
    state = forms.ChoiceField(required=False, choices=choices([*Delivery.STATE_NAMES.items()]))
    event = forms.ChoiceField(required=False, choices=[("", "All"), *Event.choices])

    def __init__(self, *args: Any, business: Business, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.business = business

    def sources(self, **instead: str) -> list[QuerySet[Delivery]]:
        wanted = {**self.cleaned_data, **instead}
        found = self.newest()
        for name in ("state", "event"):
            if wanted[name]:
                found = found.filter(**{name: wanted[name]})
        return [found.filter(self._about)]

    def is_scan(self, **instead: str) -> bool:
        wanted = {**self.cleaned_data, **instead}
        has_index = wanted["event"] in RARE_EVENTS and not wanted["state"]
        return bool(wanted["event"]) and not has_index and not wanted["q"]

    def newest(self) -> QuerySet[Delivery]:
        # By time, because the IDs of test events don't begin with it.
        found: QuerySet[Delivery] = Delivery.objects.filter(business=self.business).defer("body")
        if self.begin:
            found = found.filter(created_at__gte=self.begin)
        return found.filter(created_at__lt=self.end) if self.end else found

    def indexed(self) -> QuerySet[Delivery]:
        state = self.cleaned_data["state"]
        return self.newest().filter(state=state) if state else self.newest()

    @cached_property
    def _about(self) -> Q:
        """Return the condition of a search by event ID, or by the ID or reference of the event's subject."""
        text = self.cleaned_data["q"]
        if not text:
            return Q()
        try:
            key = UUID(text)
        except ValueError:
            return Q(subject__in=outcomes_with_reference(self.business, text))
        return Q(pk=key) | Q(subject__in=[key, *outcomes_of_transaction(key)])


TABS = (State.WAITING, State.DELIVERED, State.HELD, State.DEAD, State.SKIPPED)

DELIVERIES = ListSpec(
    name="deliveries",
    names=("delivery", "deliveries"),
    export="dashboard-deliveries-export",
    tabs=(
        TabSpec("all", "All", {}),
        *(TabSpec(state, Delivery.STATE_NAMES[state], {"state": state}) for state in TABS),
    ),
    chips=(DAYS, ChipSpec("Event", (), presets="event")),
    order=BY_MOMENT,
    size=15,
)
