"""The list of payments, with its filter."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django import forms

from dashboard.transactions.filters import AUTHORISED, METHOD_NAMES, MISMATCH, REFUNDED, TransactionFilter
from dashboard.transactions.lists import CODE, TransactionList
from dashboard.ui.components.chips import AMOUNT, DAYS, ChipSpec
from dashboard.ui.forms.field_choices import set_choices
from dashboard.ui.lists.list_filters import choices
from dashboard.ui.lists.tabs import TabSpec
from merchants.models import Business
from payments.models import PaymentLink, Transaction


class PaymentFilter(TransactionFilter):
    """Payments, or the card checks beside them."""

    listed_type = Transaction.RequestType.PAYMENT

    request_type = forms.ChoiceField(
        required=False,
        label="Type",
        choices=[("", "Payments"), (Transaction.RequestType.CARD_CHECK, "Card checks")],
    )
    method = forms.ChoiceField(required=False, choices=choices(list(METHOD_NAMES.items())))
    payment_link_id = forms.ChoiceField(required=False, label="Payment link")

    def __init__(self, *args: Any, business: Business, **kwargs: Any) -> None:
        super().__init__(*args, business=business, **kwargs)
        chosen = _chosen_link(business, self.data.get("payment_link_id", ""))
        set_choices(self, "payment_link_id", [("", "All"), *chosen.items()])

    def clean_request_type(self) -> str:
        return self.cleaned_data["request_type"] or self.listed_type


def _chosen_link(business: Business, key: str) -> dict[str, str]:
    """Return the title of one of the business's links by its ID; empty if there is none.

    The pages of links lead to their payments, so the chip offers no others: each would make the page heavier.
    """
    with suppress(ValueError):
        found = PaymentLink.objects.of(business).filter(pk=UUID(key)).values_list("pk", "title")
        return {str(each): title for each, title in found}
    return {}


Status, Type = Transaction.Status, Transaction.RequestType

LINK = ChipSpec("Payment link", (), presets="payment_link_id")

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
        TabSpec("mismatch", "Mismatch", {"status": MISMATCH}),
        TabSpec("refunded", "Refunded", {"status": REFUNDED}),
        TabSpec("card_checks", "Card checks", {"request_type": Type.CARD_CHECK}),
    ),
    chips=(DAYS, ChipSpec("Method", (), presets="method"), AMOUNT, CODE, LINK),
    template="dashboard/payments/payments.html",
)
