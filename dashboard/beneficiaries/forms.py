"""Forms of beneficiaries. Their values are validated by the API's rules too."""

from __future__ import annotations

from typing import Any

from django import forms

from dashboard.ui.forms.forms import PageForm
from kit.money.form_fields import AccountNumberField, BankField, EmailField, PastedField, ReferenceField

OPTIONAL = ("email", "note")


class ChangeForm(PageForm):
    """What may change of a beneficiary."""

    name = PastedField(max_length=255, label="Name")
    email = EmailField(required=False, max_length=254, label="Email")
    note = forms.CharField(required=False, max_length=255, label="Note")

    def changes(self) -> dict[str, Any]:
        """Return the body of the equivalent PATCH. The form must be valid."""
        return {name: self.cleaned_data[name] or None for name in ("name", *OPTIONAL)}


class NewForm(ChangeForm):
    """A beneficiary as a member enters it."""

    bank_code = BankField(label="Bank")
    account_number = AccountNumberField(label="Account number")
    reference = ReferenceField(label="Reference", help_text="Your own reference, for payouts by API.")

    def request(self) -> dict[str, Any]:
        """Return the body of the equivalent POST. The form must be valid."""
        return {name: value for name, value in self.cleaned_data.items() if value}


class BlockForm(PageForm):
    """Why a beneficiary is blocked."""

    reason = forms.CharField(max_length=255, label="Reason", help_text="Stored in the audit trail.")
