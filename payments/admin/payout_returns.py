"""Payouts that a bank returned, received as notifications or entered by staff."""

from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from merchants.admin import by_id, exactly, in_each_business
from merchants.admin.base import StaffForm
from merchants.admin.filters import CurrencyFilter
from payments.admin.submitting import SubmittedRowAdmin
from payments.models import PayoutReturn, Transaction
from payments.services.payouts import payout_returns
from payments.services.staff import staff_actions
from payments.services.staff.staff_actions import StaffAction


class PayoutReturnForm(StaffForm):
    """A successful payout to reverse, and why the money was returned."""

    class Meta:
        model = PayoutReturn
        fields = ("transaction", "reason")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in self.fields:  # optional in the bank's notifications, required here
            self.fields[name].required = True

    def clean_transaction(self) -> Transaction:
        transaction: Transaction = self.cleaned_data["transaction"]
        if not payout_returns.can_be_reversed(transaction):
            raise ValidationError("Only a successful payout can be reversed.")
        if transaction.amount_returned == transaction.amount:
            raise ValidationError("This payout was already returned in full.")
        return transaction


@admin.register(PayoutReturn)
class PayoutReturnAdmin(SubmittedRowAdmin):
    """Adding a return credits the rest of the payout to the wallet. The payout's status stays `success`."""

    list_display = ("payout", "amount", "applied", "transaction", "why", "reason", "actor", "at")
    refused_field = "transaction"
    amounts = ("amount",)
    states: ClassVar = {"applied": {}}
    list_filter = ("applied", "why", CurrencyFilter)
    list_select_related = ("transaction",)
    searches = (
        by_id(),
        by_id("transaction"),
        exactly("bank_reference"),
        in_each_business("transaction__reference", business="transaction__business"),
    )
    search_help_text = "ID of the return, ID or full reference of the payout, or full bank reference."
    autocomplete_fields = ("transaction",)

    @admin.display(description="payout, as the bank names it")
    def payout(self, row: PayoutReturn) -> str:
        return row.payout_reference or (row.transaction.reference if row.transaction else "Unknown payout")

    def get_form(
        self,
        request: HttpRequest,
        obj: PayoutReturn | None = None,
        change: bool = False,
        **kwargs: Any,
    ) -> Any:
        return super().get_form(request, obj, change, **kwargs | ({} if obj else {"form": PayoutReturnForm}))

    def get_fields(self, request: HttpRequest, obj: PayoutReturn | None = None) -> Any:
        return super().get_fields(request, obj) if obj else ("transaction", "reason")

    def get_readonly_fields(self, request: HttpRequest, obj: PayoutReturn | None = None) -> Any:
        return super().get_readonly_fields(request, obj) if obj else ()

    def action_of(self, obj: PayoutReturn, form: Any) -> StaffAction:
        payout: Transaction = form.cleaned_data["transaction"]
        return staff_actions.payout_reversal(payout, reason=obj.reason)

    def added_row(self, obj: PayoutReturn) -> PayoutReturn:
        made: PayoutReturn = PayoutReturn.objects.filter(transaction=obj.transaction_id).latest("pk")
        obj.amount, obj.currency, obj.applied = made.amount, made.currency, made.applied
        return made
