"""The list of payment links, with its filter."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from django import forms
from django.db.models import F, Q

from dashboard.ui.components.chips import DAYS, ChipSpec
from dashboard.ui.lists.bounded_totals import sums
from dashboard.ui.lists.list_filters import PeriodFilter, choices
from dashboard.ui.lists.list_rows import ListRows
from dashboard.ui.lists.lists import ListSpec
from dashboard.ui.lists.pagination import scan_limit
from dashboard.ui.lists.tabs import TabSpec
from kit.money.form_fields import PastedField
from kit.text.folding import beginning
from payments.links.link_addresses import slug_in
from payments.models import PaymentLink, PaymentLinkQuerySet
from payments.rules.words.status_names import LINK_NAMES

LONGEST_SEARCH = 200  # of an address


class LinkFilter(ListRows, PeriodFilter):
    """Search, status, currency and days of creation.

    No index has the status, the currency or the title. The list therefore reads a bounded number of links for them.
    """

    sums_are = "collected"

    q = PastedField(required=False, max_length=LONGEST_SEARCH, label="Search")
    status = forms.ChoiceField(required=False, choices=choices([*LINK_NAMES.items()]))
    currency = forms.ChoiceField(required=False)

    def __init__(self, *args: Any, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.now = now

    def sources(self, **instead: str) -> list[PaymentLinkQuerySet]:
        wanted = {**self.cleaned_data, **instead}
        found = self.newest().select_related("business")
        if wanted["status"]:
            found = found.in_status(wanted["status"], at=self.now)
        if wanted["currency"]:
            found = found.filter(currency=wanted["currency"])
        return [found.filter(meaning) for meaning in self._meanings]

    def is_scan(self, **instead: str) -> bool:
        wanted = {**self.cleaned_data, **instead}
        if wanted["q"]:
            return not self._named
        return bool(wanted["status"] or wanted["currency"])

    def newest(self) -> PaymentLinkQuerySet:
        return self.in_period(PaymentLink.objects.of(self.business))  # type: ignore[return-value]

    def sums(self) -> Sequence[str]:
        return sums(self.sources(), F("amount_paid"))

    @cached_property
    def _meanings(self) -> list[Q]:
        """Return the meanings of the search text: links that it names, and links whose title begins with it.

        Titles have no index. Beside a link that the text names, only the newest titles are compared, so that a
        reference is found at any age.
        """
        text = self.cleaned_data["q"]
        if not text:
            return [Q()]
        title = Q(title__regex=beginning(text))
        if not self._named:
            return [title]
        limit = scan_limit(self.newest())
        return [Q(pk__in=self._named), title if limit is None else title & Q(pk__gte=limit.pk)]

    @cached_property
    def _named(self) -> list[Any]:
        """Return the ids of the links that have the search text as their reference or address."""
        text = self.cleaned_data["q"]
        keys = PaymentLink.objects.of(self.business).values_list("pk", flat=True)
        # A union, because each part has an index of its own.
        return list(keys.filter(reference=text).union(keys.filter(slug=slug_in(text))))


LINKS = ListSpec(
    name="payment-links",
    names=("link", "links"),
    tabs=(
        TabSpec("all", "All", {}),
        *(TabSpec(status, name, {"status": status}) for status, name in LINK_NAMES.items()),
    ),
    chips=(DAYS, ChipSpec("Currency", (), presets="currency")),
    size=18,  # with their second lines, more would make the page too heavy
)
