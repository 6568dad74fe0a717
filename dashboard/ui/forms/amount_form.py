"""A form with an amount of a payment, entered in major units."""

from __future__ import annotations

from typing import Any

from django import forms

from dashboard.ui.forms.forms import PageForm
from kit.money.amount_input import InvalidAmount, minor_units
from kit.money.money import money


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
