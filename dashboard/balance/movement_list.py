"""The list of a wallet's movements, with its filter. The statement adds up unless it is filtered by amount."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from dashboard.balance.balance_chart import ChartPeriod
from dashboard.balance.history import History, history_of
from dashboard.ui.components.chips import ChipSpec
from dashboard.ui.lists.amount_filters import AmountFilter
from dashboard.ui.lists.list_rows import ListRows
from dashboard.ui.lists.lists import ListSpec
from dashboard.ui.lists.pagination import BY_SEQUENCE
from ledger.models import Account, Posting
from ledger.services import BALANCE_KINDS, Kind, accounts_of, balances_of
from merchants.models import Business

ROWS = 7  # beside the chart and the calendar, a page may not be heavier


class StatementFilter(ListRows, AmountFilter):
    """The currency and the days of the statement, and amounts. Days are in the active time zone."""

    def __init__(self, *args: Any, business: Business, **kwargs: Any) -> None:
        self.accounts = accounts_of(business, *BALANCE_KINDS, Kind.PAYOUTS_IN_FLIGHT)
        self.balances = balances_of(business, self.accounts)
        self.currencies = [each.currency for each in self.balances]
        super().__init__(*args, business=business, currencies=self.currencies, **kwargs)

    @property
    def currency_shown(self) -> str:
        """Return the selected currency, by default the first one."""
        chosen: str = self.cleaned_data.get("currency", "") if self.is_valid() else ""
        return chosen or next(iter(self.currencies), "")

    @property
    def accounts_shown(self) -> dict[str, Account]:
        """Return the accounts in the selected currency, by kind."""
        return {each.kind: each for each in self.accounts if each.currency == self.currency_shown}

    @property
    def chart_period(self) -> ChartPeriod:
        days = self.cleaned_data if self.is_valid() else {}
        return ChartPeriod.of(days.get("since"), days.get("until"), today=timezone.localdate())

    @cached_property
    def history(self) -> History | None:
        """Return the history of the selected currency; None if the business has no wallet in it."""
        accounts, is_valid = self.accounts_shown, self.is_valid()
        if Kind.WALLET not in accounts:
            return None
        return history_of(
            self.business,
            accounts,
            period=self.chart_period,
            since=self.begin if is_valid else None,
            before=self.end if is_valid else None,
        )

    @property
    def has_amounts(self) -> bool:
        """Return whether the filter leaves out movements of the period. The form must be valid."""
        return bool(self.cleaned_data["amount_from"] or self.cleaned_data["amount_to"])

    @property
    def postings(self) -> QuerySet[Posting]:
        """Return the movements that the filter finds. The amount of a movement may be a debit or a credit."""
        least, most = self.cleaned_data["amount_from"], self.cleaned_data["amount_to"]
        found = self.newest()
        if least:
            found = found.filter(Q(amount__gte=least) | Q(amount__lte=-least))
        return found.filter(amount__lte=most, amount__gte=-most) if most else found

    def sources(self, **instead: str) -> list[QuerySet[Posting]]:
        return [self.postings] if self.history else []

    def is_scan(self, **instead: str) -> bool:
        return self.has_amounts

    def newest(self) -> QuerySet[Posting]:
        return self.history.statement.postings if self.history else Posting.objects.none()


STATEMENT = ListSpec(
    name="balance",
    names=("movement", "movements"),
    export="dashboard-balance-export",
    chips=(
        ChipSpec("Days", ("since", "until"), presets="period"),
        ChipSpec("Currency", (), presets="currency"),
        ChipSpec("Amount", ("amount_from", "amount_to")),
    ),
    order=BY_SEQUENCE,
    size=ROWS,
)
