"""The audit trail of a business: a filtered list, and its CSV export."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from dashboard.activity import descriptions
from dashboard.activity.descriptions import Change
from dashboard.memberships import Membership, members_only
from dashboard.ui.field_choices import set_choices
from dashboard.ui.list_filters import PeriodFilter
from dashboard.ui.pagination import BY_NUMBER, page_of
from merchants import csv_exports
from merchants.audit_roles import role_of, with_roles
from merchants.models import AuditEntry, Business, Member

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
    ("wallet", "Wallet"),
    ("tariff", "Fees"),
    ("business", "Business"),
]


class ActivityFilter(PeriodFilter):
    """Filter entries. Days are UTC."""

    who = forms.ChoiceField(required=False)
    kind = forms.ChoiceField(required=False, choices=KINDS)

    field_order = ("who", "kind", "since", "until")

    def __init__(self, *args: Any, people: Iterable[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_choices(self, "who", [("", "Everyone"), *people])

    def narrow(self, entries: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        wanted = self.cleaned_data
        if wanted.get("who"):
            entries = entries.filter(actor=wanted["who"])
        if wanted.get("kind"):
            entries = entries.filter(action__startswith=f"{wanted['kind']}.")
        if self.begin:
            entries = entries.filter(at__gte=self.begin)
        if self.end:
            entries = entries.filter(at__lt=self.end)
        return entries


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """An audit trail entry, as the page shows it."""

    who: str  # an email address, the public ID of a key, or a command
    role: str
    what: str
    changes: list[Change]
    address: str | None
    at: datetime


@require_safe
@members_only
def activity_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = _form(request, membership.business)
    page = page_of([_entries(form, membership.business)], request.GET, order=BY_NUMBER)
    context = {
        "membership": membership,
        "form": form,
        "page": page,
        "activities": list(_activities(page.rows)),
    }
    return render(request, "dashboard/activity/list.html", context)


@require_safe
@members_only
def activity_export(request: HttpRequest, membership: Membership) -> HttpResponseBase:
    form = _form(request, membership.business)
    if not form.is_valid():  # the page shows the filter's errors
        return redirect(f"{reverse('dashboard-activity')}?{request.GET.urlencode()}")
    head = ("at", "who", "role", "what", "action", "target", "from", "before", "after")
    return csv_exports.table(
        request, name="activity", head=head, rows=_rows(_entries(form, membership.business))
    )


def _rows(entries: QuerySet[AuditEntry]) -> Iterator[list[str]]:
    for entry in entries.order_by("-id").iterator(chunk_size=1000):
        yield [
            entry.at.isoformat(timespec="milliseconds"),
            entry.actor,
            role_of(entry),
            _what(entry),
            entry.action,
            entry.target,
            entry.address or "",
            descriptions.shown(entry.before),
            descriptions.shown(entry.after),
        ]


def _form(request: HttpRequest, business: Business) -> ActivityFilter:
    form = ActivityFilter(request.GET, people=_people(business, request.GET.get("who", "")))
    form.is_valid()
    return form


def _people(business: Business, requested: str) -> list[tuple[str, str]]:
    """Return the members, and the requested actor, who may have left the business."""
    members = Member.objects.filter(business=business).select_related("user").order_by("user__email")
    people = [(each.user.email, f"{each.user.email} ({each.get_role_display()})") for each in members[:200]]
    # PostgreSQL stores no text with U+0000, and no name contains it.
    if requested and "\x00" not in requested and requested not in dict(people):
        people.append((requested, requested))
    return people


def _entries(form: ActivityFilter, business: Business) -> QuerySet[AuditEntry]:
    mine = with_roles(AuditEntry.objects.filter(business=business))
    return form.narrow(mine) if form.is_valid() else mine.none()


def _activities(entries: Iterable[AuditEntry]) -> Iterator[Activity]:
    for entry in entries:
        yield Activity(
            who=entry.actor,
            role=role_of(entry),
            what=_what(entry),
            changes=descriptions.changes(entry.action, before=entry.before, after=entry.after),
            address=entry.address,
            at=entry.at,
        )


def _what(entry: AuditEntry) -> str:
    return descriptions.description(entry.action, target=entry.target, before=entry.before, after=entry.after)
