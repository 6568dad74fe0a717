"""The audit trail of a business: a list, and its export."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse

from dashboard.activity import descriptions
from dashboard.activity.activity_list import ACTIVITY, ActivityFilter
from dashboard.activity.descriptions import Change
from dashboard.activity.subjects import addresses_of
from dashboard.memberships import Membership, members_export, members_page
from dashboard.ui.lists import exports
from dashboard.ui.lists.lists import list_context
from dashboard.ui.lists.pagination import BY_NUMBER
from kit.files.tables import Column, Table
from merchants.exports import FileType
from merchants.models import AuditEntry, Business
from merchants.people.audit_roles import role_of
from merchants.people.audit_values import shown, with_money


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What an audit trail entry says, apart from when and from where."""

    who: str  # an email address, the public ID of a key, or a command
    role: str
    what: str
    subject: str  # the address of its page; empty if there is none
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """An act, and the entries that say it one after another."""

    act: Act
    entries: list[AuditEntry]


@members_page
def activity_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = ActivityFilter(request.GET, business=membership.business)
    context = list_context(ACTIVITY, form, form, membership=membership, query=request.GET)
    context["activities"] = list(_activities(membership.business, context["page"].rows))
    return render(request, "dashboard/activity/list.html", context)


@members_export
def activity_export(request: HttpRequest, membership: Membership, file_type: FileType) -> HttpResponseBase:
    form, page = ActivityFilter(request.GET, business=membership.business), reverse("dashboard-activity")
    if not form.is_valid():
        return exports.back_to_list(request, page)
    entries = exports.rows_of(form.sources(), order=BY_NUMBER)
    table = Table(columns=COLUMNS, rows=entries)
    return exports.export(request, table, name="activity", file_type=file_type, page=page)


def _activities(business: Business, entries: Sequence[AuditEntry]) -> Iterator[Activity]:
    """Yield the acts of entries. Equal ones in a row are one, so that repetitions don't hide the others."""
    subjects = addresses_of(business, entries)
    for act, repeated in groupby(entries, key=lambda entry: _act(entry, subjects.get(entry.pk, ""))):
        yield Activity(act=act, entries=list(repeated))


def _act(entry: AuditEntry, subject: str) -> Act:
    return Act(
        who=entry.actor,
        role=role_of(entry),
        what=_what(entry),
        subject=subject,
        changes=tuple(descriptions.changes(entry.action, before=entry.before, after=entry.after)),
    )


def _what(entry: AuditEntry) -> str:
    return descriptions.description(entry.action, target=entry.target, before=entry.before, after=entry.after)


COLUMNS: list[Column[AuditEntry]] = [
    Column("at", lambda entry: entry.at),
    Column("who", lambda entry: entry.actor),
    Column("role", role_of),
    Column("what", _what),
    Column("action", lambda entry: entry.action),
    Column("target", lambda entry: entry.target),
    Column("from", lambda entry: entry.address),
    Column("before", lambda entry: shown(with_money(entry.before))),
    Column("after", lambda entry: shown(with_money(entry.after))),
]
