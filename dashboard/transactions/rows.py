"""The rows of the transaction lists."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from django.db.models import Case, F, Q, QuerySet, When
from django.utils import timezone

from dashboard.transactions.filters import REFUNDED, TransactionFilter, search_of, sources
from dashboard.transactions.tally_totals import TallyTotals, is_known, tally_totals
from dashboard.ui.list_rows import ListRows
from dashboard.ui.list_totals import Count, sums
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

    def sources(self, **instead: str) -> list[QuerySet[Transaction]]:
        found = sources(self.form, business=self.business, found=self.found, **self._with_type(instead))
        return [each.select_related("session__transfer") for each in found]

    def is_scan(self, **instead: str) -> bool:
        return not self.found and bool(self.form.unindexed(**self._with_type(instead)))

    def newest(self) -> QuerySet[Transaction]:
        return self.form.in_period(Transaction.objects.of(self.business))

    def indexed(self) -> QuerySet[Transaction]:
        return self.form.indexed(Transaction.objects.of(self.business))

    def known_count(self, **instead: str) -> Count | None:
        """Return the count of daily totals, if they know all of the filter."""
        wanted = {**self.form.cleaned_data, **self._with_type(instead)}
        return self._totals.count(wanted) if is_known(wanted) and self._totals else None

    def sums(self, *, are_counted: bool) -> Sequence[str]:
        """Return the sums of what succeeded."""
        status = self.form.cleaned_data["status"]
        if status not in WITH_SUCCESSES:
            return ()
        if not are_counted and self._totals:
            return self._totals.sums(self.form.cleaned_data)
        return sums(self.sources(**({} if status else {"status": str(SUCCESS)})), VOLUME)

    @cached_property
    def _totals(self) -> TallyTotals | None:
        return tally_totals(self.form, business=self.business, now=timezone.now())

    def _with_type(self, instead: dict[str, str]) -> dict[str, str]:
        """A tab without a type shows that of the list."""
        if instead.get("request_type") == "":
            return {**instead, "request_type": self.form.listed_type}
        return instead
