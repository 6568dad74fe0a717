"""The list of payments and its filter."""

from django import forms

from dashboard.transactions.filters import TransactionFilter
from dashboard.transactions.lists import TransactionList
from dashboard.ui.list_filters import choices
from payments.models import Transaction


class PaymentFilter(TransactionFilter):
    """Payments, or the card checks beside them."""

    request_type = forms.ChoiceField(
        required=False,
        label="Type",
        choices=[("", "Payments"), (Transaction.RequestType.CARD_CHECK, "Card checks")],
    )
    method = forms.ChoiceField(
        required=False,
        choices=choices([each for each in Transaction.Method.choices if each[0] != Transaction.Method.BANK]),
    )

    field_order = ("q", "status", "method", "request_type", "since", "until")

    def clean_request_type(self) -> str:
        return self.cleaned_data["request_type"] or Transaction.RequestType.PAYMENT


PAYMENTS = TransactionList("payments", filter=PaymentFilter, template="dashboard/payments/payments.html")
