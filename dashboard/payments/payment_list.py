"""The list of payments, with its filter."""

from django import forms

from dashboard.transactions.filters import AUTHORISED, REFUNDED, TransactionFilter
from dashboard.transactions.lists import CODE, TransactionList
from dashboard.ui.chips import AMOUNT, DAYS, ChipSpec
from dashboard.ui.list_filters import choices
from dashboard.ui.tabs import TabSpec
from payments.models import Transaction

METHOD_NAMES = {Transaction.Method.CARD: "Card", Transaction.Method.VIRTUAL_ACCOUNT: "Bank transfer"}


class PaymentFilter(TransactionFilter):
    """Payments, or the card checks beside them."""

    listed_type = Transaction.RequestType.PAYMENT

    request_type = forms.ChoiceField(
        required=False,
        label="Type",
        choices=[("", "Payments"), (Transaction.RequestType.CARD_CHECK, "Card checks")],
    )
    method = forms.ChoiceField(required=False, choices=choices(list(METHOD_NAMES.items())))

    def clean_request_type(self) -> str:
        return self.cleaned_data["request_type"] or self.listed_type


Status, Type = Transaction.Status, Transaction.RequestType

PAYMENTS = TransactionList(
    name="payments",
    names=("payment", "payments"),
    export="dashboard-payments-export",
    filter=PaymentFilter,
    tabs=(
        TabSpec("all", "All", {}),
        TabSpec("success", "Succeeded", {"status": Status.SUCCESS}),
        TabSpec("pending", "Pending", {"status": Status.PENDING}),
        TabSpec("authorised", "Authorised", {"status": AUTHORISED}),
        TabSpec("failed", "Failed", {"status": Status.FAILED}),
        TabSpec("refunded", "Refunded", {"status": REFUNDED}),
        TabSpec("card_checks", "Card checks", {"request_type": Type.CARD_CHECK}),
    ),
    chips=(DAYS, ChipSpec("Method", (), presets="method"), AMOUNT, CODE),
    template="dashboard/payments/payments.html",
)
