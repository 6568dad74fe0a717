"""The list of payouts, with its filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db.models import Count, F, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.urls import reverse

from dashboard.payouts.attention import attention
from dashboard.payouts.banks_named import banks_named
from dashboard.payouts.list_figures import figures_of
from dashboard.transactions.filters import AWAITING_APPROVAL, RETURNED, TransactionFilter
from dashboard.transactions.lists import CODE, TransactionList
from dashboard.transactions.rows import TransactionRows
from dashboard.ui.chips import AMOUNT, DAYS, ChipSpec
from dashboard.ui.lists.list_totals import sums
from dashboard.ui.lists.tabs import Tab, TabSpec
from kit.money.form_fields import PastedField
from merchants.models import Business
from payments.models import Beneficiary, PayoutReturn, Transaction
from payout_batches.models import PayoutBatch


class PayoutFilter(TransactionFilter):
    """Payouts."""

    listed_type = Transaction.RequestType.PAYOUT
    shown_with: Sequence[str] = ("batch_item__batch",)

    bank = PastedField(
        required=False,
        max_length=60,
        label="Bank",
        widget=forms.TextInput(attrs={"inputmode": "text"}),
    )

    def unindexed(self, **instead: str) -> Q:
        condition = super().unindexed(**instead)
        text = {**self.cleaned_data, **instead}.get("bank")
        return condition & Q(bank_code__in=[bank.code for bank in banks_named(text)]) if text else condition

    def clean(self) -> dict[str, Any]:
        return {**super().clean(), "request_type": self.listed_type}


Status = Transaction.Status
ROWS = 15
BANK = ChipSpec("Bank", ("bank",))


class PayoutRows(TransactionRows):
    """Payouts, and each return as a row of its own. A return is found by what finds its payout, and by its own day."""

    sums_are = ""  # the sums say it

    def sources(self, **instead: str) -> list[QuerySet[Any]]:
        status = {**self.form.cleaned_data, **instead}["status"]
        payouts = [] if status == RETURNED else super().sources(**instead)
        return [*payouts, *(self._returns(**instead) if status in {"", RETURNED} else [])]

    def is_scan(self, **instead: str) -> bool:
        is_returned = {**self.form.cleaned_data, **instead}["status"] == RETURNED
        return super().is_scan(**{**instead, **({"status": ""} if is_returned else {})})  # it has an index

    def sums(self) -> list[str]:
        """Return the sums of what was sent, and of what came back."""
        is_returned = self.form.cleaned_data["status"] in {"", RETURNED}
        returned = sums(self.sources(status=RETURNED), F("amount")) if is_returned else []
        return [f"{each} sent" for each in super().sums()] + [f"{each} returned" for each in returned]

    def _returns(self, **instead: str) -> list[QuerySet[PayoutReturn]]:
        mine = Transaction.objects.of(self.business).filter(request_type=Transaction.RequestType.PAYOUT)
        payouts = mine.filter(self.form.unindexed(**{**instead, "status": RETURNED}))
        applied = PayoutReturn.objects.filter(applied=PayoutReturn.Applied.REVERSED)
        returns = self.form.in_period(applied.select_related("transaction"))
        return [returns.filter(transaction__in=payouts.filter(each)) for each in self.found or [Q()]]


def _other_lists(business: Business) -> list[Tab]:
    """Return the lists of batches and beneficiaries, with their numbers."""
    mine = {
        "batches": PayoutBatch.objects.of(business),
        "beneficiaries": Beneficiary.objects.of(business),
    }
    numbers = (
        Business.objects.filter(pk=business.pk)
        .values(
            **{
                name: Coalesce(
                    Subquery(rows.order_by().values("business").annotate(n=Count("pk")).values("n")), 0
                )
                for name, rows in mine.items()
            }
        )
        .get()
    )
    return [
        Tab("Batches", reverse("dashboard-batches"), numbers["batches"]),
        Tab("Beneficiaries", reverse("dashboard-beneficiaries"), numbers["beneficiaries"]),
    ]


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
    attention=attention,
    links=_other_lists,
    size=ROWS,
)
