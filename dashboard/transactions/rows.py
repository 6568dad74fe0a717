"""The rows of the transaction lists."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from django.db.models import Case, F, Q, QuerySet, When

from dashboard.transactions.filters import REFUNDED, TransactionFilter, search_of, sources
from dashboard.ui.lists.bounded_totals import sums
from dashboard.ui.lists.list_rows import ListRows
from merchants.models import Business
from payments.models import Transaction

SUCCESS = Transaction.Status.SUCCESS
WITH_SUCCESSES = ("", SUCCESS, REFUNDED)  # values of the status filter
VOLUME = Case(When(method=Transaction.Method.CARD, then=F("amount_captured")), default=F("amount"))


class TransactionRows(ListRows):
    """The transactions that a filter finds."""

    sums_are = "succeeded"

    def __init__(self, form: TransactionFilter, business: Business) -> None:
        self.form = form
        self.business = business

    @cached_property
    def found(self) -> list[Q]:
        """Return the meanings of the search text."""
        return search_of(self.form, business=self.business)

    def sources(self, **instead: str) -> list[QuerySet[Any]]:
        found = sources(self.form, business=self.business, found=self.found, **self._with_type(instead))
        return [each.select_related(*self.form.shown_with) for each in found]

    def is_scan(self, **instead: str) -> bool:
        return not self.found and bool(self.form.unindexed(**self._with_type(instead)))

    def newest(self) -> QuerySet[Transaction]:
        return self.form.in_period(Transaction.objects.of(self.business))

    def indexed(self) -> QuerySet[Transaction]:
        return self.form.indexed(Transaction.objects.of(self.business))

    def sums(self) -> Sequence[str]:
        """Return the sums of what succeeded."""
        status = self.form.cleaned_data["status"]
        if status not in WITH_SUCCESSES:
            return ()
        return sums(self.sources(**({} if status else {"status": str(SUCCESS)})), VOLUME)

    def _with_type(self, instead: dict[str, str]) -> dict[str, str]:
        """A tab without a type shows that of the list."""
        if instead.get("request_type") == "":
            return {**instead, "request_type": self.form.listed_type}
        return instead
