"""Forms to capture, refund and pay out. Amounts are entered in major units."""

from __future__ import annotations

from typing import Any

from django import forms

from dashboard.ui.amounts import InvalidAmount, minor_units
from kit import banks
from kit.display_names import validate_name

REFERENCE = r"[A-Za-z0-9._:-]{1,100}\Z"


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

    reference = forms.RegexField(regex=REFERENCE)
    reason = forms.CharField(required=False, max_length=255)


class TransferRefundForm(RefundForm):
    """A refund with its destination account. Its fields are removed if the bank provided the sender's account."""

    destination_fields = ("name", "account_number", "bank_code")

    name = forms.CharField(max_length=255, validators=[validate_name])
    account_number = forms.RegexField(
        regex=r"[0-9]{10}\Z", error_messages={"invalid": "Enter exactly 10 digits."}
    )
    bank_code = forms.ChoiceField()

    def __init__(self, *args: Any, is_sender_known: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if is_sender_known:
            for name in self.destination_fields:
                del self.fields[name]
        else:
            names = [(bank.code, bank.name) for bank in banks.all_banks()]
            self.fields["bank_code"].choices = [("", "Choose a bank"), *names]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Build the destination as the API expects it."""
        given = self.cleaned_data
        destination = {name: given.pop(name) for name in self.destination_fields if name in given}
        return given | ({"destination": destination} if destination else {})


class PayoutForm(forms.Form):
    """A payout as a member enters it. It is then validated by the API's rules."""

    reference = forms.RegexField(
        regex=REFERENCE,
        label="Reference",
        error_messages={"invalid": "Use 1 to 100 letters, digits, and . _ : -"},
    )
    currency = forms.ChoiceField(label="Currency")
    amount = forms.CharField(max_length=24, label="Amount")
    bank_code = forms.ChoiceField(label="Bank")
    account_number = forms.RegexField(
        regex=r"[0-9]{10}\Z",
        label="Account number",
        error_messages={"invalid": "Enter exactly 10 digits."},
    )
    name = forms.CharField(max_length=255, label="Beneficiary")
    narration = forms.CharField(required=False, max_length=255, label="Narration")

    def __init__(self, *args: Any, currencies: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["currency"].choices = [(each, each) for each in currencies]  # type: ignore[attr-defined]
        self.fields["bank_code"].choices = [  # type: ignore[attr-defined]
            ("", "Choose a bank"),
            *((bank.code, bank.name) for bank in banks.all_banks()),
        ]

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if "amount" in given and "currency" in given:
            try:
                given["minor_units"] = minor_units(given["amount"], given["currency"])
            except InvalidAmount as refusal:
                self.add_error("amount", str(refusal))
        return given

    def order(self) -> dict[str, Any]:
        """Return the body of the equivalent POST /api/payments. The form must be valid."""
        given = self.cleaned_data
        order = {
            "request_type": "payout",
            "reference": given["reference"],
            "amount": given["minor_units"],
            "currency": given["currency"],
            "customer": {name: given[name] for name in ("name", "account_number", "bank_code")},
        }
        return order | ({"narration": given["narration"]} if given["narration"] else {})
