"""Forms to capture and refund. Amounts are entered in major units."""

from __future__ import annotations

from typing import Any

from django import forms

from dashboard.ui.forms import PageForm
from kit.money.amount_input import InvalidAmount, minor_units
from kit.money.form_fields import AccountNumberField, BankField, PastedField, ReferenceField
from kit.money.money import money
from kit.text.display_names import validate_name
from kit.text.masking import mask_card_numbers


class AmountForm(PageForm):
    """An amount in the payment's currency; empty means the full amount.

    `limit` is the most that is possible, in minor units; None if the service decides.
    """

    action = "capture"
    amount = forms.CharField(required=False, max_length=24)

    def __init__(self, *args: Any, currency: str, limit: int | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.currency, self.limit = currency, limit

    def clean_amount(self) -> int | None:
        text = self.cleaned_data["amount"]
        if not text:
            return None
        try:
            amount = minor_units(text, self.currency)
        except InvalidAmount as refusal:
            raise forms.ValidationError(str(refusal)) from None
        if self.limit is not None and amount > self.limit:
            raise forms.ValidationError(self.limit_message(self.limit))
        return amount

    def limit_message(self, limit: int) -> str:
        return f"You can {self.action} up to {money(limit, self.currency)}."


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
