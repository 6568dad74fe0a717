"""The administration's page Taxes: what fees were charged in taxes in a period, what was remitted, and what is payable."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from django import forms
from django.http import QueryDict

from dashboard.ui.lists.list_filters import validate_day
from kit.files.tables import Table, amounts, attributes
from kit.money.money import figures
from payments.rules.settlement.business_days import business_day
from payments.services.reporting import tax_report
from payments.services.reporting.tax_report import TaxReport

# The figures in the order in which they add up, with their names and whether they are a sum of those before.
FIGURES = (
    ("opening", "Payable before", True),
    ("card", "Tax on fees of card payments", False),
    ("virtual_account", "Tax on fees of payments by bank transfer", False),
    ("payout", "Tax on fees of payouts", False),
    ("stamp_duty", "Stamp duty on payouts", False),
    ("charged", "Charged", True),
    ("remitted", "Remitted, by journals", False),
    ("closing", "Payable after", True),
)
COLUMNS = [*attributes("currency"), *amounts("taxed_fees", *(name for name, _, _ in FIGURES))]
DATE = {"type": "date"}


class PeriodForm(forms.Form):
    """The first and the last day of a report."""

    first = forms.DateField(label="From", widget=forms.DateInput(attrs=DATE, format="%Y-%m-%d"))
    last = forms.DateField(label="To", widget=forms.DateInput(attrs=DATE, format="%Y-%m-%d"))

    def clean_first(self) -> date | None:
        return validate_day(self.cleaned_data["first"])

    def clean_last(self) -> date | None:
        return validate_day(self.cleaned_data["last"])

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        if given.get("first") and given.get("last") and given["first"] > given["last"]:
            self.add_error("last", "The last day must not be before the first.")
        return given


def form_of(query: QueryDict, *, now: datetime) -> PeriodForm:
    """Return the form with the asked period, or that of the last month."""
    if "first" in query or "last" in query:
        return PeriodForm(query)
    last = business_day(now).replace(day=1) - timedelta(days=1)
    return PeriodForm({"first": last.replace(day=1).isoformat(), "last": last.isoformat()})


def reports(form: PeriodForm) -> list[TaxReport]:
    """Return the report of each currency; none if the form is invalid."""
    if not form.is_valid():
        return []
    return tax_report.of_period(form.cleaned_data["first"], form.cleaned_data["last"])


def shown(form: PeriodForm) -> list[dict[str, Any]]:
    """Return the reports as the page shows them."""
    return [
        {
            "currency": each.currency,
            "taxed_fees": figures(each.taxed_fees, each.currency),
            "rows": [
                (label, figures(getattr(each, name), each.currency), is_sum)
                for name, label, is_sum in FIGURES
            ],
        }
        for each in reports(form)
    ]


def table(form: PeriodForm) -> Table[TaxReport]:
    return Table(columns=COLUMNS, rows=reports(form))
