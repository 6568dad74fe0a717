"""Accounts of ours at banks and acquirers: where payouts leave from and money arrives, changed by two people."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from cash.models import BankAccount
from cash.statement_files import csv_files
from kit.api.fields.strict_fields import CURRENCIES
from kit.db.card_number_fields import refuse_card_number
from kit.files.bounded_json import BoundedJSONField
from merchants.admin import ReasonForm, exactly
from merchants.admin.base import Link
from merchants.admin.columns import list_address
from merchants.people.access import Who
from payments import rails
from payments.admin.decisions.submitting import SubmittedForm
from payments.models import Proposal
from payments.services.reconciliation.ledger_lines import PAYING, RECEIVING
from payments.services.staff.actions import rights
from payments.services.staff.staff_action import StaffAction


class BankAccountForm(ReasonForm):
    """A bank account with the connectors that are tied to it."""

    currency = forms.ChoiceField(choices=[(code, code) for code in sorted(CURRENCIES)], initial="NGN")
    pays_out = forms.MultipleChoiceField(
        choices=PAYING,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Connectors whose payouts leave from this account. Each payout is expected on a statement.",
    )
    receives = forms.MultipleChoiceField(
        choices=RECEIVING,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="What arrives in this account, and is expected on a statement. Of an account at an acquirer or provider: "
        "the connector whose payments its statements list.",
    )
    csv_mapping = BoundedJSONField(
        label="CSV mapping",
        required=False,
        initial=dict,
        help_text='Headings of the bank\'s columns, such as {"date": "Date", "date_format": "%d/%m/%Y", "amount": '
        '"Amount", "balance": "Balance", "reference": "Reference", "text": "Narration"}. docs/cash.md lists all.',
    )

    def clean_number(self) -> str:
        number: str = self.cleaned_data["number"]
        refuse_card_number(number)
        return number

    def clean(self) -> dict[str, Any]:
        super().clean()
        given: dict[str, Any] = self.cleaned_data
        is_at_bank = given.get("kind", self.instance.kind) == BankAccount.Kind.BANK
        named = given.get("connector_account", self.instance.connector_account)
        if is_at_bank and named:
            self.add_error("connector_account", "Leave this empty for a bank account.")
        if (
            not is_at_bank and ":" not in named and named not in rails.accounts(named)
        ):  # the sandbox's has no colon
            self.add_error("connector_account", "Enter the connector's account, such as paystack:463433.")
        return given

    def clean_csv_mapping(self) -> dict[str, Any]:
        mapping = self.cleaned_data["csv_mapping"] or {}
        if not isinstance(mapping, dict):
            raise forms.ValidationError("Enter a JSON object.")
        wrong = list(csv_files.mistakes(mapping)) if mapping else []
        if wrong:
            raise forms.ValidationError(wrong)
        return mapping


@admin.register(BankAccount)
class BankAccountAdmin(SubmittedForm):
    """Bank accounts of ours. Rows are never deleted; name and currency are kept."""

    adders = changers = Who.STAFF
    list_display = ("name", "kind", "bank", "number", "currency")
    proposed_as = Proposal.Action.CHANGE_BANK_ACCOUNT
    form = BankAccountForm
    searches = (exactly("name", "number"),)
    search_help_text = "Name or number."
    ordering: ClassVar = ("name",)
    fields = (
        "name", "kind", "bank", "number", "connector_account", "currency", "pays_out", "receives", "csv_mapping", "reason",
    )  # fmt: skip

    def get_readonly_fields(self, request: HttpRequest, obj: BankAccount | None = None) -> tuple[str, ...]:
        return () if obj is None else ("name", "kind", "connector_account", "currency")

    def related(self, row: BankAccount) -> Any:
        yield Link("Statements", list_address("cash_statement", row.name))

    def action_of(self, obj: BankAccount, form: Any) -> StaffAction:
        return rights.bank_account(obj, reason=form.cleaned_data["reason"])

    def added_row(self, obj: BankAccount) -> BankAccount:
        return BankAccount.objects.get(name=obj.name)
