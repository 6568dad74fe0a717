"""The form of a payout. The amount is entered in major units."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django import forms

from dashboard.ui.forms.field_choices import set_choices
from dashboard.ui.forms.forms import PageForm
from kit.money.amount_input import InvalidAmount, minor_units
from kit.money.form_fields import AccountNumberField, BankField, PastedField, ReferenceField
from payments.models import BeneficiaryQuerySet, Transaction

ACCOUNT = ("name", "account_number", "bank_code")
NEW = "new"  # instead of a saved beneficiary: the account that is entered


class PayoutForm(PageForm):
    """A payout as a member enters it, to one of these beneficiaries or to an account that is entered.

    It is then validated by the API's rules.
    """

    beneficiary = PastedField(required=False, max_length=100, label="Beneficiary")
    reference = ReferenceField(
        label="Reference",
        help_text="The same reference never pays twice.",
    )
    currency = forms.ChoiceField(label="Currency")
    amount = forms.CharField(
        max_length=24,
        label="Amount",
        widget=forms.TextInput(attrs={"inputmode": "decimal", "placeholder": "2500.00"}),
    )
    # Not required by the browser either: they are hidden while a saved beneficiary is chosen.
    bank_code = BankField(required=False, label="Bank")
    account_number = AccountNumberField(required=False, label="Account number")
    name = PastedField(
        required=False,
        max_length=255,
        label="Name in your records",
        help_text="Order, case and accents do not matter.",
    )
    narration = forms.CharField(
        required=False, max_length=255, label="Narration", help_text="Printed on the bank statement."
    )
    purpose = forms.ChoiceField(
        required=False, label="Purpose", choices=[("", "Not given"), *Transaction.Purpose.choices]
    )

    is_saved = forms.BooleanField(required=False, label="Save to beneficiaries")

    def __init__(
        self, *args: Any, currencies: list[str], beneficiaries: BeneficiaryQuerySet, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        set_choices(self, "currency", ((each, each) for each in currencies))
        self.beneficiaries = beneficiaries

    @property
    def chosen(self) -> str:
        """Return the reference of the saved beneficiary that is chosen, or `NEW`."""
        return self["beneficiary"].value() or NEW

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        self._find_account(given)
        if "amount" in given and "currency" in given:
            try:
                given["minor_units"] = minor_units(given["amount"], given["currency"])
            except InvalidAmount as refusal:
                self.add_error("amount", str(refusal))
        return given

    def _find_account(self, given: dict[str, Any]) -> None:
        """Take the account of the saved beneficiary, or require the one that is entered."""
        if given.get("beneficiary") in {None, "", NEW}:
            for name in ACCOUNT:
                if name in given and not given[name]:
                    self.add_error(name, self.fields[name].error_messages["required"])
            return
        for name in [name for name in ACCOUNT if name in self.errors]:
            del self.errors[name]
        saved = self.beneficiaries.filter(reference=given["beneficiary"]).first()
        if saved is None:
            self.add_error("beneficiary", "This beneficiary was deleted or blocked. Choose another one.")
        else:
            given.update({name: getattr(saved, name) for name in ACCOUNT})

    def keep_errors_of(self, names: Collection[str]) -> None:
        """Drop the errors of other fields, which are not needed yet."""
        for name in [*self.errors]:
            if name not in names:
                del self.errors[name]

    def new_beneficiary(self) -> dict[str, Any]:
        """Return the body of the POST /api/beneficiaries that saves the account. The form must be valid."""
        given = self.cleaned_data
        return {"reference": given["reference"], "currency": given["currency"], **self.account()}

    def account(self) -> dict[str, str]:
        """Return the account that is paid, with its holder's name. The form must be valid."""
        return {name: self.cleaned_data[name] for name in ACCOUNT}

    def order(self) -> dict[str, Any]:
        """Return the body of the equivalent POST /api/payments. The form must be valid."""
        given = self.cleaned_data
        order = {
            "request_type": "payout",
            "reference": given["reference"],
            "amount": given["minor_units"],
            "currency": given["currency"],
            "customer": self.account() if self.chosen == NEW else {"beneficiary": self.chosen},
        }
        return order | {name: given[name] for name in ("narration", "purpose") if given[name]}
