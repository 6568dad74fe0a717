"""Admin pages of ledger entries. Adding an entry is a top-up."""

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from cash.models import BankAccount
from kit.money.amount_fields import AmountField, AmountsForm
from ledger import admin as ledger
from ledger.models import Entry
from merchants.admin.base import StaffForm
from payments.admin.decisions.submitting import SubmittedRowAdmin
from payments.models import Proposal
from payments.services.staff.actions import journal_actions
from payments.services.staff.staff_action import StaffAction


class TopUpForm(AmountsForm, StaffForm):
    """A top-up of a wallet by staff. Submitting the form twice adds the money once."""

    amount = AmountField(help_text="Such as 4912.00 or NGN 4,912.00.")
    bank_account = forms.ModelChoiceField(
        BankAccount.objects.filter(kind=BankAccount.Kind.BANK).order_by("currency", "name"),
        required=False,
        help_text="That received the money. Its statement must have it.",
    )
    cause = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)

    class Meta:
        model = Entry
        fields = ("business", "currency", "amount", "bank_account", "note", "cause")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["note"].required = True
        self.fields["note"].label = "Reason"

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        business, currency = cleaned.get("business"), cleaned.get("currency")
        if business and currency and currency not in business.currencies:
            raise ValidationError({"currency": f"The business has {' and '.join(business.currencies)}."})
        account = cleaned.get("bank_account")
        if (
            account is None
            and BankAccount.objects.filter(currency=currency, kind=BankAccount.Kind.BANK).exists()
        ):
            raise ValidationError({"bank_account": "Choose the bank account that received the money."})
        if account is not None and account.currency != currency:
            raise ValidationError({"bank_account": f"This account is in {account.currency}."})
        return cleaned


@admin.register(Entry)
class EntryAdmin(SubmittedRowAdmin, ledger.EntryAdmin):
    """Adding an entry tops up a wallet."""

    proposed_as = Proposal.Action.TOP_UP
    refused_field = "amount"

    def action_of(self, obj: Entry, form: Any) -> StaffAction:
        account = form.cleaned_data["bank_account"]
        return journal_actions.top_up(
            business=form.cleaned_data["business"],
            currency=obj.currency,
            amount=form.cleaned_data["amount"],
            cause=obj.cause,
            reason=obj.note,
            bank_account=account.name if account else "",
        )

    def added_row(self, obj: Entry) -> Entry:
        return Entry.objects.get(kind=Entry.Kind.TOP_UP, cause=obj.cause)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> Any:
        return super().add_view(request, form_url, {"title": "Top up a wallet"} | (extra_context or {}))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fields of a row, or those of the top-up: its hidden cause makes a second submit harmless."""
        return TopUpForm.Meta.fields if obj is None else super().get_fields(request, obj)

    def get_form(
        self, request: HttpRequest, obj: Entry | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        if obj is None:
            kwargs |= {"form": TopUpForm, "fields": TopUpForm.Meta.fields}
        return super().get_form(request, obj, change, **kwargs)

    def get_inline_instances(self, request: HttpRequest, obj: Entry | None = None) -> Any:
        return [] if obj is None else super().get_inline_instances(request, obj)
