"""Forms to refund. Amounts are entered in major units."""

from __future__ import annotations

from typing import Any

from django import forms

from dashboard.ui.forms.amount_form import AmountForm
from kit.money.form_fields import AccountNumberField, BankField, PastedField, ReferenceField
from kit.text.display_names import validate_name
from kit.text.masking import mask_card_numbers


class RefundForm(AmountForm):
    """A refund. The form holds its reference, so a form submitted twice is one refund."""

    action = "refund"
    reference = ReferenceField()
    reason = forms.CharField(
        required=False,
        max_length=255,
        help_text="Your team sees it in the timeline. The customer doesn't.",
    )

    def kept_values(self) -> list[tuple[str, str]]:
        """Return the other fields' values for the hidden fields of the review."""
        values = [(name, str(self[name].value() or "")) for name in self.fields if name != "amount"]
        return [(name, value if name == "reference" else mask_card_numbers(value)) for name, value in values]


class TransferRefundForm(RefundForm):
    """A refund with its destination account. Its fields are removed if the bank provided the sender's account."""

    destination_fields = ("name", "account_number", "bank_code")

    name = PastedField(max_length=255, label="Account holder", validators=[validate_name])
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
