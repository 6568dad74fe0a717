"""The list of settlements, with its filter. A business has few: one a day and currency."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from uuid import UUID

from django import forms
from django.db.models import F, Q

from dashboard.ui.components.chips import ChipSpec
from dashboard.ui.lists.bounded_totals import sums
from dashboard.ui.lists.list_filters import PeriodFilter, choices
from dashboard.ui.lists.list_rows import ListRows
from dashboard.ui.lists.lists import ListSpec
from dashboard.ui.lists.tabs import TabSpec
from kit.money.form_fields import PastedField
from payments.models import SettlementBatch, SettlementBatchQuerySet, Transaction
from payments.rules.words.status_names import SETTLEMENT_NAMES

Status = Transaction.SettleStatus
OPEN = (Status.PENDING, Status.INITIATED)
STATES = [
    (state.value, SETTLEMENT_NAMES[state])
    for state in (Status.PENDING, Status.APPROVED, Status.RELEASED, Status.REJECTED)
]


class BatchFilter(ListRows, PeriodFilter):
    """Search, state, currency and business days."""

    sums_are = "net"

    q = PastedField(required=False, max_length=100, label="Search")
    state = forms.ChoiceField(required=False, choices=choices(STATES))
    currency = forms.ChoiceField(required=False)

    def sources(self, **instead: str) -> list[SettlementBatchQuerySet]:
        wanted = {**self.cleaned_data, **instead}
        found = self.newest().filter(_meaning(wanted["q"]))
        if wanted["state"]:
            found = found.filter(state__in=OPEN if wanted["state"] in OPEN else [wanted["state"]])
        return [found.filter(currency=wanted["currency"]) if wanted["currency"] else found]

    def newest(self) -> SettlementBatchQuerySet:
        days = {"day__gte": self.cleaned_data["since"], "day__lte": self.cleaned_data["until"]}
        found = SettlementBatch.objects.of(self.business)
        return found.filter(**{name: day for name, day in days.items() if day})

    def sums(self) -> Sequence[str]:
        """Return the net amounts. Those of rejected batches are in the batches that replaced them."""
        is_of_rejected = self.cleaned_data["state"] == Status.REJECTED
        found = self.sources()
        return sums(
            found if is_of_rejected else [each.exclude(state=Status.REJECTED) for each in found], F("net")
        )


def _meaning(text: str) -> Q:
    """Return the condition of a search by day or ID."""
    for name, read in (("day", date.fromisoformat), ("pk", UUID)):
        try:
            return Q(**{name: read(text)})
        except ValueError:
            continue
    return Q(pk__in=[]) if text else Q()


BATCHES = ListSpec(
    name="settlements",
    names=("settlement", "settlements"),
    export="dashboard-settlements-export",
    tabs=(TabSpec("all", "All", {}), *(TabSpec(name, name, {"state": state}) for state, name in STATES)),
    chips=(
        ChipSpec("Day", ("since", "until"), presets="period"),
        ChipSpec("Currency", (), presets="currency"),
    ),
)
