"""The list of API requests, with its filter."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django import forms
from django.db.models import Q, QuerySet

from dashboard.ui.components.chips import ChipSpec
from dashboard.ui.forms.field_choices import set_choices
from dashboard.ui.lists.list_filters import PeriodFilter
from dashboard.ui.lists.list_rows import ListRows
from dashboard.ui.lists.lists import ListSpec
from dashboard.ui.lists.pagination import BY_NUMBER
from dashboard.ui.lists.tabs import TabSpec
from kit.money.form_fields import PastedField
from merchants.models import ApiKey, ApiRequest, Business
from merchants.numbered_rows import in_period

STATUS_CLASS = 100  # statuses in a class such as 4xx
FIRST_ERROR = "4"
STATUSES = [("2", "Succeeded"), ("4", "Client errors"), ("5", "Server errors")]
MOST_KEYS = 100


class RequestFilter(ListRows, PeriodFilter):
    """Search, class of the status, key and days."""

    q = PastedField(required=False, max_length=254, label="Search")
    status = forms.ChoiceField(required=False, choices=[("", "All"), *STATUSES])
    key = forms.ChoiceField(required=False)
    object = forms.UUIDField(required=False, label="ID of its object")

    def __init__(self, *args: Any, business: Business, **kwargs: Any) -> None:
        super().__init__(*args, business=business, **kwargs)
        listed = ApiKey.objects.filter(business=business).order_by("-created_at")
        self.keys = {each.public_id: each for each in listed.only("public_id", "name")[:MOST_KEYS]}
        set_choices(self, "key", [("", "All"), *((each, named(key)) for each, key in self.keys.items())])

    def sources(self, **instead: str) -> list[QuerySet[ApiRequest]]:
        wanted = {**self.cleaned_data, **instead}
        calls = self._of_status(wanted["status"])
        text = wanted["q"]
        if text.startswith("/"):
            calls = calls.filter(target__startswith=text)
        elif text:
            calls = calls.filter(request_id=text)
        if wanted["object"]:
            calls = calls.filter(object_id=wanted["object"])
        return [calls.filter(key=wanted["key"]) if wanted["key"] else calls]

    def is_scan(self, **instead: str) -> bool:
        wanted = {**self.cleaned_data, **instead}
        if wanted["object"] or (wanted["q"] and not wanted["q"].startswith("/")):
            return False
        return bool(wanted["q"] or wanted["status"] or wanted["key"])

    def newest(self) -> QuerySet[ApiRequest]:
        return self._in_period

    def indexed(self) -> QuerySet[ApiRequest]:
        return (
            self._in_period.filter(_ERRORS) if self.cleaned_data["status"] >= FIRST_ERROR else self._in_period
        )

    def _shown_value(self, name: str, value: Any) -> str:
        if name != "object":
            return super()._shown_value(name, value)
        about = ApiRequest.objects.filter(business=self.business, object_id=value).order_by("-id").first()
        return f"{about.get_object_kind_display().capitalize()} {about.reference}" if about else str(value)

    @cached_property
    def _in_period(self) -> QuerySet[ApiRequest]:
        calls = ApiRequest.objects.filter(business=self.business)
        return in_period(calls, self.business, begin=self.begin, end=self.end)

    def _of_status(self, status: str) -> QuerySet[ApiRequest]:
        if not status:
            return self._in_period
        first = int(status) * STATUS_CLASS
        calls = self._in_period.filter(status__gte=first, status__lt=first + STATUS_CLASS)
        return calls.filter(_ERRORS) if status >= FIRST_ERROR else calls


_ERRORS = Q(status__gte=400)  # the condition of the partial index


def named(key: ApiKey) -> str:
    """Return the name of a key with its public ID."""
    return f"{key.name} ({key.public_id})" if key.name else key.public_id


REQUESTS = ListSpec(
    name="requests",
    has_news=True,
    names=("request", "requests"),
    tabs=(TabSpec("all", "All", {}), *(TabSpec(name, name, {"status": status}) for status, name in STATUSES)),
    chips=(
        ChipSpec("Sent", ("since", "until"), presets="period"),
        ChipSpec("Key", ("key",)),
        ChipSpec("Object", ("object",)),
    ),
    order=BY_NUMBER,
    size=15,  # each row names several things; more would make the page too heavy
)
