"""Payouts that a bank returned, received as notifications or entered by staff."""

from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse

from merchants.admin import by_id, exactly, in_each_business
from merchants.admin.base import StaffForm, staff_action
from merchants.admin.filters import CurrencyFilter
from payments.admin.decisions.submitting import SubmittedRowAdmin
from payments.admin.suspense import MatchForm, ResolvedFilter, SuspenseAdmin, WriteOffForm
from payments.models import PayoutReturn, Proposal, Transaction
from payments.services.payouts import payout_returns
from payments.services.staff import staff_actions
from payments.services.staff.staff_action import StaffAction


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


MAY_DECIDE = "payments.add_payoutreturn"


@admin.register(PayoutReturn)
class PayoutReturnAdmin(SuspenseAdmin, SubmittedRowAdmin):
    """Adding a return credits the rest of the payout to the wallet. The payout's status stays `success`.

    Unmatched returns are matched to a payout, or written off.
    """

    groups: ClassVar = {
        "Return": ("amount", "currency", "reason", "at", "actor", "extra_members"),
        "Payout": ("transaction", "payout_reference", "bank_reference", "applied", "why"),
        "Decision": ("resolution", "resolved_by", "resolved_at"),
    }
    may_decide = MAY_DECIDE
    decisions: ClassVar = {"match": MatchForm, "write_off": WriteOffForm}
    list_display = ("payout", "amount", "applied", "transaction", "why", "reason", "actor", "at")
    proposed_as = Proposal.Action.REVERSE_PAYOUT
    refused_field = "transaction"
    amounts = ("amount",)
    states: ClassVar = {"applied": {}}
    list_filter = ("applied", ResolvedFilter, "why", CurrencyFilter)
    list_select_related = ("transaction",)
    searches = (
        by_id(),
        by_id("transaction"),
        exactly("bank_reference"),
        in_each_business("transaction__reference", business="transaction__business"),
    )
    search_help_text = "ID of the return, ID or full reference of the payout, or full bank reference."
    autocomplete_fields = ("transaction",)

    @staff_action("match a payout return", may=MAY_DECIDE, needs_second_person=True)
    def match(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        return self.decide(request, row_id, "match")

    @staff_action("write off a payout return", may=MAY_DECIDE, needs_second_person=True)
    def write_off(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        return self.decide(request, row_id, "write_off")

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
        made = PayoutReturn.objects.filter(transaction=obj.transaction_id).latest("pk")
        obj.amount, obj.currency, obj.applied = made.amount, made.currency, made.applied
        return made
