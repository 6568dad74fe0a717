"""The list of fee invoices, with its filter. A business has few: one a month and currency."""

from __future__ import annotations

from collections.abc import Sequence

from django import forms
from django.db.models import F, Q

from dashboard.ui.components.chips import ChipSpec
from dashboard.ui.lists.bounded_totals import sums
from dashboard.ui.lists.list_filters import ListFilter
from dashboard.ui.lists.list_rows import ListRows
from dashboard.ui.lists.lists import ListSpec
from kit.money.form_fields import PastedField
from payments.models import FeeInvoice, FeeInvoiceQuerySet
from payments.rules.settlement.business_days import read_day

LONGEST = 9  # digits of a number


class InvoiceFilter(ListRows, ListFilter):
    """Search by number or month, and currency."""

    sums_are = "in total"

    q = PastedField(required=False, max_length=20, label="Search")
    currency = forms.ChoiceField(required=False)

    def sources(self, **instead: str) -> list[FeeInvoiceQuerySet]:
        found = self.newest().filter(_meaning(self.cleaned_data["q"]))
        currency = self.cleaned_data["currency"]
        return [found.filter(currency=currency) if currency else found]

    def newest(self) -> FeeInvoiceQuerySet:
        return FeeInvoice.objects.of(self.business)

    def sums(self) -> Sequence[str]:
        return sums(self.sources(), F("net") + F("tax") + F("stamp_duty"))


def _meaning(text: str) -> Q:
    """Return the condition of a search by number, such as INV-000012, or by month, such as 2026-10."""
    month, number = read_day(f"{text}-01"), text.upper().removeprefix("INV-")
    if month is not None:
        return Q(month=month)
    if number.isascii() and number.isdigit() and len(number) <= LONGEST:
        return Q(number=int(number))
    return Q(pk__in=[]) if text else Q()


INVOICES = ListSpec(
    name="invoices",
    names=("invoice", "invoices"),
    export="dashboard-invoices-export",
    chips=(ChipSpec("Currency", (), presets="currency"),),
)
