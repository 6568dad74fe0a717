"""The list of unapplied transfers, with its filter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from django import forms
from django.db.models import F, Q

from dashboard.models import SearchTerm
from dashboard.search.queries import ids_for_list
from dashboard.ui.components.chips import ChipSpec
from dashboard.ui.lists.bounded_totals import sums
from dashboard.ui.lists.list_filters import PeriodFilter, choices
from dashboard.ui.lists.list_rows import ListRows
from dashboard.ui.lists.lists import ListSpec
from dashboard.ui.lists.tabs import TabSpec
from kit.money.form_fields import PastedField
from payments.rules.words.status_names import UNAPPLIED_SHORT_REASONS, unapplied_name
from payments.services.transfers import awaited_returns
from virtual_accounts.models import AWAITS_APPROVAL, UnappliedMoney, UnappliedMoneyQuerySet
from virtual_accounts.services import unapplied_queries

STATES = [
    UnappliedMoney.State.OPEN,
    AWAITS_APPROVAL,  # a return that another member has yet to approve has not been made
    UnappliedMoney.State.RETURNED,
    UnappliedMoney.State.CREDITED,
]


class UnappliedFilter(ListRows, PeriodFilter):
    """Search, state, reason and days of receipt."""

    q = PastedField(required=False, max_length=100, label="Search")
    state = forms.ChoiceField(
        required=False, choices=choices([(str(state), unapplied_name(state)) for state in STATES])
    )
    reason = forms.ChoiceField(required=False, choices=choices([*UNAPPLIED_SHORT_REASONS.items()]))

    def sources(self, **instead: str) -> list[UnappliedMoneyQuerySet]:
        wanted = {**self.cleaned_data, **instead}
        found = self.newest().with_payment_reference()
        if wanted["state"]:
            found = found.filter(self._is(wanted["state"]))
        if wanted["reason"]:
            found = found.filter(transfer__reason=wanted["reason"])
        return [found.filter(meaning) for meaning in self._meanings]

    def is_scan(self, **instead: str) -> bool:
        return bool(self.cleaned_data["reason"]) and not self.cleaned_data["q"]

    def newest(self) -> UnappliedMoneyQuerySet:
        return self.in_period(unapplied_queries.of(self.business))  # type: ignore[return-value]

    def indexed(self) -> UnappliedMoneyQuerySet:
        state = self.cleaned_data["state"]
        return self.newest().filter(self._is(state)) if state else self.newest()

    def _is(self, state: str) -> Q:
        """Return the condition of a state, as pages name it."""
        awaits = awaited_returns.awaits_approval(self.business)
        if state == AWAITS_APPROVAL:
            return awaits
        return Q(state=state) & ~awaits if state == UnappliedMoney.State.RETURNED else Q(state=state)

    def sums(self) -> Sequence[str]:
        return sums(self.sources(), F("amount"))

    @cached_property
    def _meanings(self) -> list[Q]:
        """Return the meanings of the search text, each of which has an index."""
        text = self.cleaned_data["q"]
        if not text:
            return [Q()]
        known = ids_for_list(self.business, text, kinds=[SearchTerm.Kind.UNAPPLIED], **self.id_range)
        payment = Q(
            transfer__session__payment__business=self.business, transfer__session__payment__reference=text
        )
        return [Q(transfer__bank_reference=text), payment, Q(pk__in=known)]


UNAPPLIED = ListSpec(
    name="unapplied",
    has_news=True,
    names=("transfer", "transfers"),
    export="dashboard-unapplied-export",
    tabs=(
        TabSpec("all", "All", {}),
        *(TabSpec(str(state), unapplied_name(state), {"state": str(state)}) for state in STATES),
    ),
    chips=(
        ChipSpec("Received", ("since", "until"), presets="period"),
        ChipSpec("Reason", (), presets="reason"),
    ),
    size=20,
)
