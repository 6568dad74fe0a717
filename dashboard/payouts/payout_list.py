"""The list of payouts and its filter."""

from dashboard.transactions.filters import TransactionFilter
from dashboard.transactions.lists import TransactionList
from payments.models import Transaction


class PayoutFilter(TransactionFilter):
    """Payouts."""

    def clean(self) -> dict[str, object]:
        return {**self.cleaned_data, "request_type": Transaction.RequestType.PAYOUT}


PAYOUTS = TransactionList("payouts", filter=PayoutFilter, template="dashboard/payouts/payouts.html")
