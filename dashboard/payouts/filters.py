"""The filter of the list of payouts."""

from dashboard.transactions.filters import TransactionFilter
from payments.models import Transaction


class PayoutFilter(TransactionFilter):
    """Payouts."""

    def clean(self) -> dict[str, object]:
        return {**self.cleaned_data, "request_type": Transaction.RequestType.PAYOUT}
