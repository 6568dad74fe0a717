"""The form for the payer's account of a refund that its provider can't carry out without one."""

from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from kit.api.errors import Problem
from kit.money.form_fields import AccountNumberField, BankField
from merchants.admin import ReadOnlyAdmin
from payments.admin.submitting import submit
from payments.models import CardOperation
from payments.services.payouts import name_enquiries
from payments.services.staff import made_about, refund_accounts


class AccountForm(forms.Form):
    """The payer's account and the reason. `account_name` has the name that the page showed, once the bank has told it."""

    account_number = AccountNumberField(label="Payer's account number")
    bank_code = BankField(shows_codes=True, label="Payer's bank")
    reason = forms.CharField(max_length=255)
    account_name = forms.CharField(required=False, widget=forms.HiddenInput)


def shown(refund: CardOperation) -> dict[str, Any]:
    """Return what the page of a refund that needs an account shows."""
    return {
        "account_form": AccountForm(auto_id="account_%s"),
        "account_seen": made_about.fingerprint(refund_accounts.asked(refund)),
        "needs_second_person": settings.FOUR_EYES,
    }


def give(pages: ReadOnlyAdmin, request: HttpRequest, refund_id: UUID) -> HttpResponse:
    """Show the name of the account's holder, and submit the account once the name was seen."""
    refund = get_object_or_404(CardOperation.objects.select_related("transaction__business"), pk=refund_id)
    form = AccountForm(request.POST, auto_id="account_%s")
    name = _holder(form, refund) if form.is_valid() else ""
    if not name:
        messages.error(request, "Nothing was sent. Check the fields below.")
        return pages.page_again(request, refund_id, account_form=form)
    account = form.cleaned_data
    if account["account_name"] != name:
        seen = AccountForm({**account, "account_name": name}, auto_id="account_%s")
        return pages.page_again(request, refund_id, account_form=seen, holder=name)
    submit(
        request,
        lambda: refund_accounts.account_given(refund, **account),
        done="The account was sent to the provider.",
    )
    return redirect("admin:payments_cardoperation_change", refund_id)


def _holder(form: AccountForm, refund: CardOperation) -> str:
    """Return the name of the account's holder. Otherwise empty, and the form has the error."""
    account = {name: form.cleaned_data[name] for name in ("account_number", "bank_code")}
    try:
        return name_enquiries.account_name(business=refund.transaction.business, **account)
    except Problem as refused:
        form.add_error("account_number", str(refused.detail))
        return ""
