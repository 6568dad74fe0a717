"""The list of activity, with its filter."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django import forms
from django.db.models import QuerySet

from dashboard.ui.components.chips import ChipSpec
from dashboard.ui.forms.field_choices import set_choices
from dashboard.ui.lists.list_filters import PeriodFilter
from dashboard.ui.lists.list_rows import ListRows
from dashboard.ui.lists.lists import ListSpec
from dashboard.ui.lists.pagination import BY_NUMBER
from kit.money.form_fields import PastedField
from merchants.models import AuditEntry, Business, Member
from merchants.numbered_rows import in_period
from merchants.people.audit_roles import with_roles

# A kind is the part of an action's name before the dot.
KINDS = [
    ("", "Everything"),
    ("session", "Sign-ins and sessions"),
    ("second_factor", "Second factors"),
    ("password", "Passwords"),
    ("member", "Team"),
    ("api_key", "API keys"),
    ("webhook", "Webhooks"),
    ("payment", "Payments"),
    ("payout", "Payouts"),
    ("virtual_account", "Virtual accounts"),
    ("settlement_batch", "Settlements"),
    ("wallet", "Balance"),
    ("tariff", "Fees"),
    ("business", "Business"),
]
MOST_PEOPLE = 200


class ActivityFilter(ListRows, PeriodFilter):
    """Search, person, kind and days."""

    q = PastedField(required=False, max_length=100, label="Search")
    who = forms.ChoiceField(required=False)
    kind = forms.ChoiceField(required=False, choices=KINDS)

    def __init__(self, *args: Any, business: Business, **kwargs: Any) -> None:
        super().__init__(*args, business=business, **kwargs)
        people = _people(business, self.data.get("who", ""))
        set_choices(self, "who", [("", "Everyone"), *people])

    def sources(self, **instead: str) -> list[QuerySet[AuditEntry]]:
        wanted = {**self.cleaned_data, **instead}
        entries = with_roles(self._in_period)
        if wanted["q"]:
            entries = entries.filter(target=wanted["q"])
        if wanted["who"]:
            entries = entries.filter(actor=wanted["who"])
        return [entries.filter(action__startswith=f"{wanted['kind']}.") if wanted["kind"] else entries]

    def is_scan(self, **instead: str) -> bool:
        return bool(self.cleaned_data["who"] or self.cleaned_data["kind"]) and not self.cleaned_data["q"]

    def newest(self) -> QuerySet[AuditEntry]:
        return self._in_period

    @cached_property
    def _in_period(self) -> QuerySet[AuditEntry]:
        entries = AuditEntry.objects.filter(business=self.business)
        return in_period(entries, self.business, begin=self.begin, end=self.end)


def _people(business: Business, requested: str) -> list[tuple[str, str]]:
    """Return the members, and the requested actor, who may have left the business."""
    members = Member.objects.filter(business=business).select_related("user").order_by("user__email")
    people = [
        (each.user.email, f"{each.user.email} ({each.get_role_display()})") for each in members[:MOST_PEOPLE]
    ]
    # PostgreSQL stores no text with U+0000, and no name contains it.
    if requested and "\x00" not in requested and requested not in dict(people):
        people.append((requested, requested))
    return people


ACTIVITY = ListSpec(
    name="activity",
    names=("entry", "entries"),
    export="dashboard-activity-export",
    chips=(
        ChipSpec("When", ("since", "until"), presets="period"),
        ChipSpec("Who", ("who",)),
        ChipSpec("Kind", (), presets="kind"),
    ),
    order=BY_NUMBER,
)
