"""The list of payouts, with its filter."""

from typing import Any

from dashboard.payouts.list_figures import figures_of
from dashboard.transactions.filters import AWAITING_APPROVAL, RETURNED, TransactionFilter
from dashboard.transactions.lists import CODE, TransactionList
from dashboard.ui.chips import AMOUNT, DAYS
from dashboard.ui.lists.tabs import TabSpec
from payments.models import Transaction


class PayoutFilter(TransactionFilter):
    """Payouts."""

    listed_type = Transaction.RequestType.PAYOUT

    def clean(self) -> dict[str, Any]:
        return {**super().clean(), "request_type": self.listed_type}


Status = Transaction.Status
ROWS = 18  # below the figures, a page may not be heavier

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
    chips=(DAYS, AMOUNT, CODE),
    template="dashboard/payouts/payouts.html",
    figures=figures_of,
    size=ROWS,
)
