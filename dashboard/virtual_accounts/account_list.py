"""The list of virtual accounts, with its filter."""

from __future__ import annotations

from functools import cached_property

from django import forms
from django.db.models import Q, QuerySet

from dashboard.models import SearchTerm
from dashboard.search.queries import ids_for_list
from dashboard.search.terms import LONGEST_SEARCH
from dashboard.ui.components.chips import DAYS, ChipSpec
from dashboard.ui.lists.list_filters import PeriodFilter, choices
from dashboard.ui.lists.list_rows import ListRows
from dashboard.ui.lists.lists import ListSpec
from dashboard.ui.lists.tabs import TabSpec
from kit.money.form_fields import PastedField
from virtual_accounts.models import VirtualAccount, VirtualAccountQuerySet

Type, Status = VirtualAccount.Type, VirtualAccount.Status


class AccountFilter(ListRows, PeriodFilter):
    """Search, status, type and days of creation."""

    q = PastedField(required=False, max_length=LONGEST_SEARCH, label="Search")
    status = forms.ChoiceField(required=False, choices=choices(Status.choices))
    type = forms.ChoiceField(required=False, choices=choices(Type.choices))

    def sources(self, **instead: str) -> list[QuerySet[VirtualAccount]]:
        wanted = {**self.cleaned_data, **instead}
        mine = self.newest().with_current_number()
        for name in ("type", "status"):
            if wanted[name]:
                mine = mine.filter(**{name: wanted[name]})
        return [mine.filter(meaning) for meaning in self._meanings]

    def is_scan(self, **instead: str) -> bool:
        return bool({**self.cleaned_data, **instead}["type"]) and not self.cleaned_data["q"]

    def newest(self) -> VirtualAccountQuerySet:
        return self.in_period(VirtualAccount.objects.of(self.business))  # type: ignore[return-value]

    def indexed(self) -> VirtualAccountQuerySet:
        status = self.cleaned_data["status"]
        return self.newest().filter(status=status) if status else self.newest()

    @cached_property
    def _meanings(self) -> list[Q]:
        """Return the meanings of the search text, each of which has an index."""
        text = self.cleaned_data["q"]
        if not text:
            return [Q()]
        known = ids_for_list(self.business, text, kinds=[SearchTerm.Kind.VIRTUAL_ACCOUNT], **self.id_range)
        return [
            Q(reference=text),
            Q(account_number=text),
            Q(numbers=text),
            Q(pk__in=known),
        ]


ACCOUNTS = ListSpec(
    name="virtual-accounts",
    names=("account", "accounts"),
    export="dashboard-virtual-accounts-export",
    tabs=(
        TabSpec("all", "All", {}),
        TabSpec("active", "Active", {"status": Status.ACTIVE}),
        TabSpec("inactive", "Inactive", {"status": Status.INACTIVE}),
    ),
    chips=(DAYS, ChipSpec("Type", (), presets="type")),
    size=20,
)
