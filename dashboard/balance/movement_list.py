"""The list of a wallet's movements, with its filter. It has only filters with which the statement adds up."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django import forms
from django.db.models import QuerySet

from dashboard.ui.chips import ChipSpec
from dashboard.ui.field_choices import set_choices
from dashboard.ui.list_filters import PeriodFilter
from dashboard.ui.list_rows import ListRows
from dashboard.ui.lists import ListSpec
from dashboard.ui.pagination import BY_SEQUENCE
from ledger.models import Posting
from ledger.statements import AccountStatement, wallet_statements
from merchants.models import Business


class StatementFilter(ListRows, PeriodFilter):
    """The currency and the days of the statement. Days are in the active time zone."""

    currency = forms.ChoiceField(required=False)

    def __init__(self, *args: Any, business: Business, currencies: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.business = business
        self.currencies = currencies
        set_choices(self, "currency", [("", "Any"), *((each, each) for each in currencies)])

    @property
    def currency_shown(self) -> str:
        """Return the selected currency, by default the first one."""
        chosen: str = self.cleaned_data.get("currency", "") if self.is_valid() else ""
        return chosen or next(iter(self.currencies), "")

    @cached_property
    def statement(self) -> AccountStatement | None:
        """Return the statement of the filtered days; None if the wallet has no entries. The form must be valid."""
        found = wallet_statements(
            self.business, currency=self.currency_shown, since=self.begin, before=self.end
        )
        return found[0] if found else None

    def sources(self, **instead: str) -> list[QuerySet[Posting]]:
        return [self.statement.postings] if self.statement else []


STATEMENT = ListSpec(
    name="balance",
    names=("movement", "movements"),
    export="dashboard-balance-export",
    chips=(
        ChipSpec("Days", ("since", "until"), presets="period"),
        ChipSpec("Currency", (), presets="currency"),
    ),
    order=BY_SEQUENCE,
)
