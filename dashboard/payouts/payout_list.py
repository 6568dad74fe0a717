"""The list of payouts, with its filter."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from django import forms
from django.db.models import F, Q, QuerySet
from django.urls import reverse

from dashboard.memberships import Membership
from dashboard.payouts.attention import attention
from dashboard.payouts.banks_named import banks_named
from dashboard.payouts.list_figures import figures_of
from dashboard.payouts.list_summary import summary_of, with_summary
from dashboard.transactions.filters import AWAITING_APPROVAL, RETURNED, TransactionFilter, search_of
from dashboard.transactions.lists import CODE, Beside, TransactionList
from dashboard.transactions.rows import TransactionRows
from dashboard.ui.components.chips import AMOUNT, DAYS, ChipSpec
from dashboard.ui.lists.bounded_totals import sums_each
from dashboard.ui.lists.tabs import Tab, TabSpec
from kit.money.form_fields import PastedField
from payments.models import PayoutReturn, Transaction


class PayoutFilter(TransactionFilter):
    """Payouts."""

    listed_type = Transaction.RequestType.PAYOUT
    shown_with: Sequence[str] = ("batch_item__batch", "approval")

    bank = PastedField(
        required=False,
        max_length=60,
        label="Bank",
        widget=forms.TextInput(attrs={"inputmode": "text"}),
    )

    def of_days(self, transactions: QuerySet[Transaction], *, status: str) -> QuerySet[Transaction]:
        """Return the payouts of the period. Those that came back did so in the period, whenever they were sent."""
        if status != RETURNED or not self.id_range:
            return super().of_days(transactions, status=status)
        came_back = PayoutReturn.objects.filter(applied=PayoutReturn.Applied.REVERSED)
        return transactions.filter(pk__in=self.in_period(came_back).values("transaction"))

    def unindexed(self, **instead: str) -> Q:
        condition = super().unindexed(**instead)
        text = {**self.cleaned_data, **instead}.get("bank")
        return condition & Q(bank_code__in=[bank.code for bank in banks_named(text)]) if text else condition

    def clean(self) -> dict[str, Any]:
        return {**super().clean(), "request_type": self.listed_type}


Status = Transaction.Status
ROWS = 15
FEW = {AWAITING_APPROVAL, RETURNED}
BANK = ChipSpec("Bank", ("bank",))


class PayoutRows(TransactionRows):
    """Payouts, and each return as a row of its own. A return is found by what finds its payout, and by its own day."""

    sums_are = ""  # the sums say it

    def sources(self, **instead: str) -> list[QuerySet[Any]]:
        status = {**self.form.cleaned_data, **instead}["status"]
        payouts = [] if status == RETURNED else super().sources(**instead)
        returns = self._returns(**instead) if status in {"", RETURNED} else []
        return [*(with_summary(each, self.business) for each in payouts), *returns]

    def is_scan(self, **instead: str) -> bool:
        """Few payouts are pending or came back: what waits for approval and what was returned need no scan."""
        status = {**self.form.cleaned_data, **instead}["status"]
        return super().is_scan(**{**instead, **({"status": ""} if status in FEW else {})})

    def sums(self) -> list[str]:
        """Return the sums of what was sent, and of what came back."""
        status = self.form.cleaned_data["status"]
        summed = {
            "sent": self.sources(status=str(Status.SUCCESS)) if status in {"", Status.SUCCESS} else [],
            "returned": self.sources(status=RETURNED) if status in {"", RETURNED} else [],
        }
        found = sums_each({name: (sources, F("amount")) for name, sources in summed.items()})
        return [f"{each} {name}" for name, amounts in found.items() for each in amounts]

    def _returns(self, **instead: str) -> list[QuerySet[PayoutReturn]]:
        mine = Transaction.objects.of(self.business).filter(request_type=Transaction.RequestType.PAYOUT)
        payouts = mine.filter(self.form.unindexed(**{**instead, "status": RETURNED}))
        applied = PayoutReturn.objects.filter(applied=PayoutReturn.Applied.REVERSED)
        returns = self.form.in_period(applied.select_related("transaction"))
        return [
            returns.filter(transaction__in=payouts.filter(each)) for each in self.found_on_any_day or [Q()]
        ]

    @cached_property
    def found_on_any_day(self) -> list[Q]:
        """Return the meanings of the search text for payouts of any day: a return has a day of its own."""
        if not self.form.id_range:
            return self.found
        return search_of(self.form, business=self.business, is_of_any_day=True)


def _beside(membership: Membership, rows: Sequence[Transaction | PayoutReturn], *, now: datetime) -> Beside:
    """Return what has to be done about payouts, and the lists of batches and beneficiaries with their numbers."""
    summary = summary_of(membership.business, rows)
    tabs = [
        Tab("Batches", reverse("dashboard-batches"), summary.batches),
        Tab("Beneficiaries", reverse("dashboard-beneficiaries"), summary.beneficiaries),
    ]
    return Beside(attention=attention(membership, summary, rows, now=now), tabs=tabs)


PAYOUTS = TransactionList(
    name="payouts",
    names=("payout", "payouts"),
    export="dashboard-payouts-export",
    filter=PayoutFilter,
    rows=PayoutRows,
    tabs=(
        TabSpec("all", "All", {}),
        TabSpec("success", "Succeeded", {"status": Status.SUCCESS}),
        TabSpec("approval", "Awaiting approval", {"status": AWAITING_APPROVAL}),
        TabSpec("pending", "Pending", {"status": Status.PENDING}),
        TabSpec("failed", "Failed", {"status": Status.FAILED}),
        TabSpec("returned", "Returned", {"status": RETURNED}),
    ),
    chips=(DAYS, BANK, AMOUNT, CODE),
    template="dashboard/payouts/payouts.html",
    figures=figures_of,
    beside=_beside,
    size=ROWS,
)
