"""The list of payouts, with its filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db.models import Q
from django.urls import reverse

from dashboard.payouts.attention import attention
from dashboard.payouts.banks_named import banks_named
from dashboard.payouts.list_figures import figures_of
from dashboard.transactions.filters import AWAITING_APPROVAL, RETURNED, TransactionFilter
from dashboard.transactions.lists import CODE, TransactionList
from dashboard.ui.chips import AMOUNT, DAYS, ChipSpec
from dashboard.ui.lists.tabs import Tab, TabSpec
from kit.money.form_fields import PastedField
from payments.models import Transaction


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
ROWS = 12  # below the figures, a page may not be heavier
BANK = ChipSpec("Bank", ("bank",))


def _other_lists() -> list[Tab]:
    return [
        Tab("Batches", reverse("dashboard-batches")),
        Tab("Beneficiaries", reverse("dashboard-beneficiaries")),
    ]


PAYOUTS = TransactionList(
    name="payouts",
    names=("payout", "payouts"),
    export="dashboard-payouts-export",
    filter=PayoutFilter,
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
