"""Admin pages of unapplied money, which staff credit to the business or return to the sender."""

from collections.abc import Iterator
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern

from kit.banks import ACCOUNT_NUMBER
from kit.money.form_fields import AccountNumberField, BankField
from kit.money.money import money
from merchants.admin import ReadOnlyAdmin, by_business_name, by_id, exactly
from merchants.admin.base import Link, staff_action
from merchants.admin.columns import list_address, sentence
from merchants.admin.filters import CurrencyFilter
from payments.admin.submitting import submit
from payments.models import Proposal
from payments.rules.status_names import unapplied_name
from payments.services.staff import made_about, staff_actions
from payments.services.transfers.return_destinations import sender_of
from virtual_accounts.models import UnappliedMoney

Action = Proposal.Action
MAY_DECIDE = "virtual_accounts.change_unappliedmoney"


class CreditForm(forms.Form):
    """Credit money to the wallet of the business, with a reason."""

    reason = forms.CharField(max_length=255)


class ReturnForm(CreditForm):
    """Return money by a payout, with a reason. The account is entered only if the bank sent none."""

    account_number = AccountNumberField(required=False, label="Sender's account number")
    bank_code = BankField(shows_codes=True, required=False, label="Sender's bank")


@admin.register(UnappliedMoney)
class UnappliedMoneyAdmin(ReadOnlyAdmin):
    change_form_template = "admin/payments/unappliedmoney.html"
    list_display = ("sender", "amount", "state", "business", "why", "created_at", "decided_at")
    amounts = ("amount",)
    states: ClassVar = {"state": {state: unapplied_name(state) for state in UnappliedMoney.State.values}}
    list_filter = ("state", CurrencyFilter)
    list_select_related = ("business", "transfer")
    searches = (
        by_id(),
        by_id("transfer"),
        exactly("transfer__bank_reference"),
        exactly("transfer__number", shape=ACCOUNT_NUMBER.pattern),
        by_business_name(),
    )
    search_help_text = "ID, bank reference, account number, or name of the business."

    @admin.display(description="why")
    def why(self, unapplied: UnappliedMoney) -> str:
        return sentence(unapplied.transfer.get_reason_display())

    def title_of(self, row: UnappliedMoney) -> str:
        return f"{money(row.amount, row.currency)} from {row.transfer.sender_name}"

    def related(self, row: UnappliedMoney) -> Iterator[Link]:
        yield Link("Ledger entries", list_address("ledger_entry", row.transfer_id))
        yield Link("Deliveries", list_address("webhooks_delivery", row.pk))
        yield Link("Proposals", f"{list_address('payments_proposal', row.pk)}&state=all")
        yield Link("Audit trail", list_address("merchants_auditentry", row.pk))

    @admin.display(description="sender")
    def sender(self, unapplied: UnappliedMoney) -> str:
        return unapplied.transfer.sender_name

    def get_urls(self) -> list[URLPattern]:
        actions = {"credit": self.credit, "return": self.return_money}
        return [*self.action_urls("money_id", actions), *super().get_urls()]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        if isinstance(row, UnappliedMoney) and row.is_open and request.user.has_perm(MAY_DECIDE):
            is_sender_known = sender_of(row.transfer) is not None
            return {
                "credit_form": CreditForm(auto_id="credit_%s"),
                "return_form": CreditForm() if is_sender_known else ReturnForm(),
                "is_sender_known": is_sender_known,
                "seen": made_about.fingerprint(made_about.unapplied(row)),
            }
        return {}

    @staff_action("credit an unapplied transfer", may=MAY_DECIDE, needs_second_person=True)
    def credit(self, request: HttpRequest, money_id: UUID) -> HttpResponse:
        return self._decide(request, money_id, "credit_form", CreditForm(request.POST, auto_id="credit_%s"))

    @staff_action("return an unapplied transfer", may=MAY_DECIDE, needs_second_person=True)
    def return_money(self, request: HttpRequest, money_id: UUID) -> HttpResponse:
        return self._decide(request, money_id, "return_form", ReturnForm(request.POST))

    def _decide(self, request: HttpRequest, money_id: UUID, name: str, form: CreditForm) -> HttpResponse:
        unapplied = get_object_or_404(UnappliedMoney, pk=money_id)
        if not form.is_valid():
            messages.error(request, "Nothing was decided. Check the fields below.")
            return self.page_again(request, money_id, **{name: form})
        self._submit(request, unapplied, form)
        return redirect("admin:virtual_accounts_unappliedmoney_change", money_id)

    def _submit(self, request: HttpRequest, unapplied: UnappliedMoney, form: CreditForm) -> None:
        kind = Action.RETURN_UNAPPLIED if isinstance(form, ReturnForm) else Action.CREDIT_UNAPPLIED
        submit(
            request,
            lambda: staff_actions.unapplied_decision(unapplied, kind, **form.cleaned_data),
            done=f"The money is {'returned' if kind == Action.RETURN_UNAPPLIED else 'credited'}.",
        )
