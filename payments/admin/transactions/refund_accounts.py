"""The form for the payer's account of a refund, or of a return, that its provider can't carry out without one."""

from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern

from kit.api.errors import Problem
from kit.money.form_fields import AccountNumberField, BankField
from merchants.admin.base import staff_action
from payments.admin.decisions.submitting import submit
from payments.admin.transactions.resolutions import MAY_RESOLVE, ResolvableAdmin
from payments.services.payouts import name_enquiries
from payments.services.staff import made_about
from payments.services.staff.actions import refund_accounts
from payments.services.staff.actions.refund_accounts import Subject


class AccountForm(forms.Form):
    """The payer's account and the reason. `account_name` has the name that the page showed, once the bank has told it."""

    account_number = AccountNumberField(label="Payer's account number")
    bank_code = BankField(shows_codes=True, label="Payer's bank")
    reason = forms.CharField(max_length=255)
    account_name = forms.CharField(required=False, widget=forms.HiddenInput)


class AskingAdmin(ResolvableAdmin):
    """Rows for which a provider may ask for the payer's account: refunds, and transactions that return unapplied money."""

    def get_urls(self) -> list[URLPattern]:
        return [*self.action_urls("subject_id", {"give_account": self.give_account}), *super().get_urls()]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        context = super().page_context(request, row)
        attention = refund_accounts.attention_of(row) if row is not None else ""
        if attention and request.user.has_perm(MAY_RESOLVE):
            context |= _form_of(row, attention)
        return context

    @staff_action("give the payer's account for a refund", may=MAY_RESOLVE, needs_second_person=True)
    def give_account(self, request: HttpRequest, subject_id: UUID) -> HttpResponse:
        """Show the name of the account's holder, and submit the account once the name was seen."""
        subject = get_object_or_404(self.model, pk=subject_id)
        form = AccountForm(request.POST, auto_id="account_%s")
        name = _holder(form, subject) if form.is_valid() else ""
        if not name:
            messages.error(request, "Nothing was sent. Check the fields below.")
            return self.page_again(request, subject_id, account_form=form)
        account = form.cleaned_data
        if account["account_name"] != name:
            seen = AccountForm({**account, "account_name": name}, auto_id="account_%s")
            return self.page_again(request, subject_id, account_form=seen, holder=name)
        submit(
            request,
            lambda: refund_accounts.account_given(subject, **account),
            done="The account was sent to the provider.",
        )
        return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", subject_id)


def _form_of(subject: Subject, attention: str) -> dict[str, Any]:
    return {
        "account_form": AccountForm(auto_id="account_%s"),
        "account_seen": made_about.fingerprint(refund_accounts.asked(subject)),
        "attention": attention,
        "needs_second_person": settings.FOUR_EYES,
    }


def _holder(form: AccountForm, subject: Subject) -> str:
    """Return the name of the account's holder. Otherwise empty, and the form has the error."""
    account = {name: form.cleaned_data[name] for name in ("account_number", "bank_code")}
    try:
        return name_enquiries.account_name(business=refund_accounts.payment_of(subject).business, **account)
    except Problem as refused:
        form.add_error("account_number", str(refused.detail))
        return ""
