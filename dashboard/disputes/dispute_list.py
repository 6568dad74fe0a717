"""The list of disputes, with its filter. Those that need a response come first, by their deadline, then the newest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import DateTimeField, DurationField, ExpressionWrapper, F, Q, Value
from django.db.models.functions import Coalesce
from django.utils.dateparse import parse_duration

from dashboard.models import SearchTerm
from dashboard.search.queries import ids_for_list
from dashboard.search.terms import LONGEST_SEARCH
from dashboard.ui.components.chips import ChipSpec
from dashboard.ui.dispute_names import DISPUTE_NAMES, REASON_NAMES, STAGE_NAMES
from dashboard.ui.lists.bounded_totals import sums
from dashboard.ui.lists.list_filters import PeriodFilter, choices, midnight, validate_day
from dashboard.ui.lists.list_rows import ListRows
from dashboard.ui.lists.lists import ListSpec
from dashboard.ui.lists.pagination import Order
from dashboard.ui.lists.tabs import TabSpec
from disputes.models import Dispute, DisputeQuerySet
from kit.money.form_fields import PastedField
from payments.models import Transaction
from payments.rules.words.dispute_words import Status

# What each tab shows.
STATUSES = {
    Status.NEEDS_RESPONSE: [Status.NEEDS_RESPONSE],
    Status.UNDER_REVIEW: [Status.UNDER_REVIEW],
    Status.WON: [Status.WON, Status.WITHDRAWN],
    Status.LOST: [Status.LOST, Status.EXPIRED],
    Status.ACCEPTED: [Status.ACCEPTED],
}
DAY = timedelta(days=1)
MOST_URGENT = 1  # above the list
SIZE = 13  # with the figures and the most urgent one above, more would make the page too heavy
NEVER = datetime(9999, 1, 1, tzinfo=UTC)  # of disputes without a deadline, which follow those with one
URGENCY = ExpressionWrapper(
    Value(NEVER, DateTimeField()) - Coalesce(F("respond_by"), Value(NEVER, DateTimeField())),
    output_field=DurationField(),
)
NOT_URGENT = Value(timedelta(days=-1), DurationField())  # a constant, so that an index by id orders the rows


class DisputeFilter(ListRows, PeriodFilter):
    """Search, status, stage, reason, deadline and days."""

    sums_are, are_disjoint = "disputed", True

    q = PastedField(required=False, max_length=LONGEST_SEARCH, label="Search")
    status = forms.ChoiceField(
        required=False, choices=choices([(each, DISPUTE_NAMES[each]) for each in STATUSES])
    )
    stage = forms.ChoiceField(required=False, choices=choices(list(STAGE_NAMES.items())))
    reason = forms.ChoiceField(required=False, choices=choices(list(REASON_NAMES.items())))
    due_before = forms.DateField(required=False, label="Respond by")

    def clean_due_before(self) -> date | None:
        return validate_day(self.cleaned_data["due_before"])

    def sources(self, **instead: str) -> list[DisputeQuerySet]:
        """Return the disputes that need a response, and the others of the tab. Each is found by an index.

        Only those that need a response have a deadline that counts.
        """
        wanted = {**self.cleaned_data, **instead}
        status, due_before = wanted["status"], wanted["due_before"]
        found = []
        if status in ("", Status.NEEDS_RESPONSE):
            found.append(self._waiting(due_before))
        if not status and not due_before:
            found.append(self.newest())
        elif status != Status.NEEDS_RESPONSE and not due_before:
            found += [self.newest().filter(status=each) for each in STATUSES[status]]
        narrowed = {name: wanted[name] for name in ("stage", "reason") if wanted[name]}
        return [self._searched(each.filter(**narrowed), wanted["q"]) for each in found]

    def is_scan(self, **instead: str) -> bool:
        wanted = {**self.cleaned_data, **instead}
        if wanted["q"] or wanted["due_before"] or wanted["status"] == Status.NEEDS_RESPONSE:
            return False
        return bool(wanted["reason"] or (wanted["stage"] and wanted["status"]))

    def newest(self) -> DisputeQuerySet:
        """Return the disputes that need no response."""
        return self._mine(NOT_URGENT).exclude(status=Status.NEEDS_RESPONSE)

    def _waiting(self, due_before: date | None) -> DisputeQuerySet:
        waiting = self._mine(URGENCY).filter(status=Status.NEEDS_RESPONSE)
        return waiting.filter(respond_by__lt=midnight(due_before + DAY)) if due_before else waiting

    def _mine(self, urgency: Any) -> DisputeQuerySet:
        found: Any = self.in_period(Dispute.objects.of(self.business))
        mine: DisputeQuerySet = found.select_related("transaction").annotate(urgency=urgency)
        return mine

    def sums(self) -> Sequence[str]:
        """Return the sums of what a filter finds. Without one, figures are above the list."""
        return sums(self.sources(), F("amount")) if self.is_filtered else ()

    def _searched(self, found: DisputeQuerySet, text: str) -> DisputeQuerySet:
        """Return what a search finds: a case number, or what finds a payment, such as the name of its customer."""
        return found.filter(Q(case_number=text) | Q(transaction__in=self._payments)) if text else found

    @cached_property
    def _payments(self) -> list[UUID]:
        """Return the payments that the search finds. A reference finds one that isn't indexed yet."""
        text = self.cleaned_data["q"]
        named = Transaction.objects.of(self.business).filter(reference=text).values_list("pk", flat=True)
        return [*named, *ids_for_list(self.business, text, kinds=[SearchTerm.Kind.PAYMENT])]


def _read_urgency(text: str) -> tuple[timedelta, UUID]:
    length, _, key = text.partition("~")
    urgency = parse_duration(length)
    if urgency is None:
        raise ValueError(text)
    return urgency, UUID(key)


DISPUTES = ListSpec(
    name="disputes",
    names=("dispute", "disputes"),
    export="dashboard-disputes-export",
    order=Order(("urgency", "id"), _read_urgency),
    size=SIZE,
    tabs=(
        TabSpec("all", "All", {}),
        *(TabSpec(each, DISPUTE_NAMES[each], {"status": each}) for each in STATUSES),
    ),
    chips=(
        ChipSpec("Stage", (), presets="stage"),
        ChipSpec("Reason", (), presets="reason"),
        ChipSpec("Respond by", ("due_before",)),
        ChipSpec("Received", ("since", "until"), presets="period"),
    ),
)


def most_urgent(rows: Sequence[Dispute]) -> list[Dispute]:
    """Return the disputes of the unfiltered list's first page whose deadlines are the next."""
    return [each for each in rows[:MOST_URGENT] if each.status == Status.NEEDS_RESPONSE and each.respond_by]
