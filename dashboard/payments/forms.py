"""Forms to capture and refund. Amounts are entered in major units."""

from __future__ import annotations

from typing import Any

from django import forms

from dashboard.ui.amount_input import InvalidAmount, minor_units
from kit.display_names import validate_name
from kit.form_fields import AccountNumberField, BankField, ReferenceField


class AmountForm(forms.Form):
    """An amount in the payment's currency; empty means the full amount."""

    amount = forms.CharField(required=False, max_length=24)

    def __init__(self, *args: Any, currency: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.currency = currency

    def clean_amount(self) -> int | None:
        text = self.cleaned_data["amount"]
        if not text:
            return None
        try:
            return minor_units(text, self.currency)
        except InvalidAmount as refusal:
            raise forms.ValidationError(str(refusal)) from None


class RefundForm(AmountForm):
    """A refund. The form holds its reference, so a form submitted twice is one refund."""

    reference = ReferenceField()
    reason = forms.CharField(required=False, max_length=255)


class TransferRefundForm(RefundForm):
    """A refund with its destination account. Its fields are removed if the bank provided the sender's account."""

    destination_fields = ("name", "account_number", "bank_code")

    name = forms.CharField(max_length=255, label="Account holder", validators=[validate_name])
    account_number = AccountNumberField(label="Account number")
    bank_code = BankField(label="Bank")

    def __init__(self, *args: Any, is_sender_known: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if is_sender_known:
            for name in self.destination_fields:
                del self.fields[name]

    def clean(self) -> dict[str, Any]:
        """Build the destination as the API expects it."""
        given = self.cleaned_data
        destination = {name: given.pop(name) for name in self.destination_fields if name in given}
        return given | ({"destination": destination} if destination else {})
