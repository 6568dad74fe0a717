"""The list of a wallet's movements, with its filter. The statement adds up unless it is filtered by amount."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.db.models import Q, QuerySet

from dashboard.ui.chips import ChipSpec
from dashboard.ui.lists.amount_filters import AmountFilter
from dashboard.ui.lists.list_rows import ListRows
from dashboard.ui.lists.lists import ListSpec
from dashboard.ui.lists.pagination import BY_SEQUENCE
from ledger.models import Posting
from ledger.statements import AccountStatement, wallet_statements
from merchants.models import Business


class StatementFilter(ListRows, AmountFilter):
    """The currency and the days of the statement, and amounts. Days are in the active time zone."""

    def __init__(self, *args: Any, business: Business, currencies: list[str], **kwargs: Any) -> None:
        super().__init__(*args, currencies=currencies, **kwargs)
        self.business = business
        self.currencies = currencies

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
        return [self.postings] if self.statement else []

    def is_scan(self, **instead: str) -> bool:
        return self.has_amounts

    def newest(self) -> QuerySet[Posting]:
        return self.statement.postings if self.statement else Posting.objects.none()


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
)
