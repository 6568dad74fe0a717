"""The list of deliveries, with its filter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.db.models import Q, QuerySet

from dashboard.ui.components.chips import DAYS, ChipSpec
from dashboard.ui.forms.field_choices import set_choices
from dashboard.ui.lists.list_filters import PeriodFilter, choices
from dashboard.ui.lists.list_rows import ListRows
from dashboard.ui.lists.lists import ListSpec
from dashboard.ui.lists.pagination import BY_MOMENT
from dashboard.ui.lists.tabs import TabSpec
from dashboard.webhooks.endpoints.own_endpoints import SECRETS
from kit.db import clock
from kit.money.form_fields import PastedField
from kit.text.ids import read_id
from merchants.models import Business
from payments.services.events.event_subjects import outcomes_of_transaction, outcomes_with_reference
from webhooks.models import RARE_EVENTS, Delivery, Endpoint, Event

State = Delivery.State


class DeliveryFilter(ListRows, PeriodFilter):
    """Search, state, event and days of creation."""

    q = PastedField(required=False, max_length=100, label="Search")
    state = forms.ChoiceField(required=False, choices=choices([*Delivery.STATE_NAMES.items()]))
    event = forms.ChoiceField(required=False, choices=[("", "All"), *Event.choices])
    endpoint = forms.ChoiceField(required=False)

    def __init__(self, *args: Any, business: Business, **kwargs: Any) -> None:
        super().__init__(*args, business=business, **kwargs)
        self.endpoints = list(Endpoint.objects.filter(business=business).defer(*SECRETS))
        shown = [each for each in self.endpoints if _is_shown(each, asked=self.data.get("endpoint", ""))]
        set_choices(self, "endpoint", _endpoint_choices(shown))

    def sources(self, **instead: str) -> list[QuerySet[Delivery]]:
        wanted = {**self.cleaned_data, **instead}
        found = self.newest()
        for name in ("state", "event"):
            if wanted[name]:
                found = found.filter(**{name: wanted[name]})
        if (number := self._number) is not None:
            found = found.filter(endpoint_number=number)
        return [found.filter(self._about)]

    def is_scan(self, **instead: str) -> bool:
        wanted = {**self.cleaned_data, **instead}
        number = self._number
        if number is not None and (number == Endpoint.FIRST or wanted["state"] or wanted["event"]):
            return not wanted["q"]
        has_index = wanted["event"] in RARE_EVENTS and not wanted["state"]
        return bool(wanted["event"]) and not has_index and not wanted["q"]

    def newest(self) -> QuerySet[Delivery]:
        # By time, because the IDs of test events don't begin with it.
        found = Delivery.objects.filter(business=self.business).defer("body")
        if self.begin:
            found = found.filter(created_at__gte=self.begin)
        return found.filter(created_at__lt=self.end) if self.end else found

    def indexed(self) -> QuerySet[Delivery]:
        state = self.cleaned_data["state"]
        return self.newest().filter(state=state) if state else self.newest()

    @property
    def _number(self) -> int | None:
        """Return the number of the endpoint that is asked for, or None for all of them."""
        wanted = self.cleaned_data["endpoint"]
        return next((each.number for each in self.endpoints if str(each.public_id) == wanted), None)

    @cached_property
    def _about(self) -> Q:
        """Return the condition of a search by event ID, or by the ID or reference of the event's subject."""
        text = self.cleaned_data["q"]
        if not text:
            return Q()
        key = read_id(text)
        if key is None:
            return Q(subject__in=outcomes_with_reference(self.business, text))
        # An event's id is that of its delivery to the first endpoint; the others have the same outcome.
        of_event = Delivery.objects.without_tests().filter(business=self.business, pk=key)
        outcomes = [key, *of_event.values_list("subject", flat=True), *outcomes_of_transaction(key)]
        return Q(pk=key) | Q(subject__in=outcomes)


def _is_shown(endpoint: Endpoint, *, asked: str) -> bool:
    """Return whether the list offers an endpoint: a deleted one while its attempts are kept, or if it is asked for."""
    kept = timedelta(days=settings.WEBHOOK_ATTEMPT_RETENTION)
    is_recent = endpoint.deleted_at is None or endpoint.deleted_at > clock.now() - kept
    return is_recent or str(endpoint.public_id) == asked


def _endpoint_choices(endpoints: Iterable[Endpoint]) -> list[tuple[str, str]]:
    """Return the endpoints that a list can be limited to, deleted ones last."""
    in_order = sorted(endpoints, key=lambda each: (each.deleted_at is not None, each.number))
    hosts = Counter(urlsplit(each.url).netloc for each in in_order)
    return [("", "All"), *((str(each.public_id), _endpoint_name(each, hosts)) for each in in_order)]


def _endpoint_name(endpoint: Endpoint, hosts: Counter[str]) -> str:
    """Return the host of an endpoint, with the path if several have this host."""
    parts = urlsplit(endpoint.url)
    name = f"{parts.netloc}{parts.path}" if hosts[parts.netloc] > 1 else parts.netloc
    return f"{name} (deleted)" if endpoint.deleted_at else name


TABS = (State.WAITING, State.DELIVERED, State.HELD, State.DEAD, State.SKIPPED)
HINTS = {
    State.HELD: "Your endpoint is off. Events are sent once it is on again, and skipped after 7 days.",
    State.DEAD: "The last automatic attempt failed. Resend the events when your server is ready.",
    State.SKIPPED: "Not sent: you had unsubscribed from the event, or it was held for more than 7 days.",
}

DELIVERIES = ListSpec(
    name="deliveries",
    has_news=True,
    names=("delivery", "deliveries"),
    export="dashboard-deliveries-export",
    tabs=(
        TabSpec("all", "All", {}),
        *(
            TabSpec(state, Delivery.STATE_NAMES[state], {"state": state}, HINTS.get(state, ""))
            for state in TABS
        ),
    ),
    chips=(
        DAYS,
        ChipSpec("Event", (), presets="event"),
        ChipSpec("Endpoint", (), presets="endpoint"),
    ),
    order=BY_MOMENT,
    size=13,  # with the chip of ten endpoints, more would make the page too heavy
)
