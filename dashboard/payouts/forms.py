"""The form of a payout. The amount is entered in major units."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django import forms

from dashboard.ui.field_choices import set_choices
from dashboard.ui.forms import PageForm
from kit.money.amount_input import InvalidAmount, minor_units
from kit.money.form_fields import AccountNumberField, BankField, PastedField, ReferenceField
from payments.models import Transaction

ACCOUNT = ("name", "account_number", "bank_code")


class PayoutForm(PageForm):
    """A payout as a member enters it. It is then validated by the API's rules."""

    reference = ReferenceField(
        label="Reference",
        help_text="Your own reference. A payout with the same reference is sent only once.",
    )
    currency = forms.ChoiceField(label="Currency")
    amount = forms.CharField(
        max_length=24,
        label="Amount",
        widget=forms.TextInput(attrs={"inputmode": "decimal", "placeholder": "2500.00"}),
    )
    bank_code = BankField(label="Bank")
    account_number = AccountNumberField(label="Account number")
    name = PastedField(max_length=255, label="Beneficiary")
    narration = forms.CharField(required=False, max_length=255, label="Narration")
    purpose = forms.ChoiceField(
        required=False, label="Purpose", choices=[("", "Not given"), *Transaction.Purpose.choices]
    )

    is_saved = forms.BooleanField(required=False, label="Save to beneficiaries")

    def __init__(self, *args: Any, currencies: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_choices(self, "currency", ((each, each) for each in currencies))

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if "amount" in given and "currency" in given:
            try:
                given["minor_units"] = minor_units(given["amount"], given["currency"])
            except InvalidAmount as refusal:
                self.add_error("amount", str(refusal))
        return given

    def keep_errors_of(self, names: Collection[str]) -> None:
        """Drop the errors of other fields, which are not needed yet."""
        for name in [*self.errors]:
            if name not in names:
                del self.errors[name]

    def beneficiary(self) -> dict[str, Any]:
        """Return the body of the POST /api/beneficiaries that saves the account. The form must be valid."""
        order = self.order()
        account = {name: order["customer"][name] for name in ACCOUNT}
        return {"reference": order["reference"], "currency": order["currency"], **account}

    def order(self) -> dict[str, Any]:
        """Return the body of the equivalent POST /api/payments. The form must be valid."""
        given = self.cleaned_data
        order = {
            "request_type": "payout",
            "reference": given["reference"],
            "amount": given["minor_units"],
            "currency": given["currency"],
            "customer": {name: given[name] for name in ACCOUNT},
        }
        return order | {name: given[name] for name in ("narration", "purpose") if given[name]}
