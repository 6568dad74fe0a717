"""Admin pages of unapplied money, which staff credit to the business or return to the sender."""

from collections.abc import Iterator
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, reverse

from kit import banks
from kit.api.errors import Problem
from kit.banks import ACCOUNT_NUMBER
from kit.money.form_fields import AccountNumberField, BankField
from kit.money.money import money
from merchants.admin import ReadOnlyAdmin, by_business_name, by_id, exactly
from merchants.admin.base import Link, staff_action
from merchants.admin.columns import linked, list_address
from merchants.admin.filters import CurrencyFilter
from payments.admin.decisions.submitting import ANOTHER, require_seen, submit
from payments.models import Proposal, Transaction
from payments.rules.words.status_names import (
    UNAPPLIED_REASONS,
    UNAPPLIED_SHORT_REASONS,
    status_name,
    unapplied_name,
)
from payments.services.staff import made_about, staff_actions
from payments.services.staff.staff_action import StaffAction
from payments.services.transactions.intents import find_of
from payments.services.transfers.return_destinations import sender_of
from virtual_accounts.models import UnappliedMoney

Action = Proposal.Action
MAY_DECIDE = "virtual_accounts.change_unappliedmoney"
REVIEW = "_review"  # the button of a form that asks to see what its decision does


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
    list_display = ("sender", "amount", "state", "business", "short_reason", "created_at", "decided_at")
    fields = (
        "business", "transfer", "amount", "why", "payment", "state", "reason", "actor", "reference", "accepted",
        "created_at", "decided_at",
    )  # fmt: skip
    readonly_fields = ("why", "payment", "accepted")
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
    def short_reason(self, unapplied: UnappliedMoney) -> str:
        return UNAPPLIED_SHORT_REASONS[unapplied.transfer.reason]

    @admin.display(description="why it is unapplied")
    def why(self, unapplied: UnappliedMoney) -> str:
        return UNAPPLIED_REASONS[unapplied.transfer.reason]

    @admin.display(description="payment that it was meant for")
    def payment(self, unapplied: UnappliedMoney) -> str | None:
        payment = _payment_of(unapplied)
        if payment is None:
            return None
        text = f"{payment.reference}: {money(payment.amount, payment.currency)}, {status_name(payment)}"
        return linked(text, reverse("admin:payments_transaction_change", args=[payment.pk]))

    @admin.display(description="accepted for that payment")
    def accepted(self, unapplied: UnappliedMoney) -> str | None:
        """Say whether the money made its payment succeed. A credit in the administration never does."""
        if unapplied.is_accepted:
            return "Yes, although it is less than the payment expected"
        is_credited = unapplied.state == UnappliedMoney.State.CREDITED
        return "No, it was credited without changing the payment" if is_credited else None

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
        if REVIEW in request.POST:
            return self._review(request, unapplied, form)
        submit(
            request,
            lambda: _action(unapplied, form),
            done=f"The money is {'returned' if isinstance(form, ReturnForm) else 'credited'}.",
        )
        return redirect("admin:virtual_accounts_unappliedmoney_change", money_id)

    def _review(self, request: HttpRequest, unapplied: UnappliedMoney, form: CreditForm) -> HttpResponse:
        """Show what the decision does, with the button that makes it."""
        try:
            action = _action(unapplied, form)
            require_seen(request, action.made_about)
        except Problem as refused:
            messages.error(request, str(refused.detail))
            return redirect("admin:virtual_accounts_unappliedmoney_change", unapplied.pk)
        is_return = isinstance(form, ReturnForm)
        return TemplateResponse(
            request,
            "admin/payments/unappliedmoney_review.html",
            self.admin_site.each_context(request)
            | {
                "title": "Review return" if is_return else "Review credit",
                "opts": self.opts,
                "original": unapplied,
                "is_return": is_return,
                "destination": _destination(unapplied, form) if is_return else "",
                "why": self.why(unapplied),
                "payment": self.payment(unapplied),
                "entered": form.cleaned_data,
                "seen": made_about.fingerprint(action.made_about),
                "second_person": ANOTHER if settings.FOUR_EYES else "",
            },
        )


def _action(unapplied: UnappliedMoney, form: CreditForm) -> StaffAction:
    kind = Action.RETURN_UNAPPLIED if isinstance(form, ReturnForm) else Action.CREDIT_UNAPPLIED
    return staff_actions.unapplied_decision(unapplied, kind, **form.cleaned_data)


def _payment_of(unapplied: UnappliedMoney) -> Transaction | None:
    """Return the payment that the transfer was meant for, if it is known."""
    reference = UnappliedMoney.objects.with_payment_reference().get(pk=unapplied.pk).payment_reference
    return find_of(unapplied.business, reference) if reference else None


def _destination(unapplied: UnappliedMoney, form: CreditForm) -> str:
    """Return the account that a return goes to, in words."""
    transfer, entered = unapplied.transfer, form.cleaned_data
    if transfer.provider_account:
        return f"{transfer.sender_name}, through the provider that received the money"
    sender = sender_of(transfer)
    number = sender.account_number if sender else entered["account_number"]
    code = sender.bank_code if sender else entered["bank_code"]
    return f"{transfer.sender_name}, account {number} at {banks.name_of(code) or code}"
