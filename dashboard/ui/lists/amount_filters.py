"""Filters of lists by amount, which people enter in major units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from dashboard.ui.forms.field_choices import set_choices
from dashboard.ui.lists.list_filters import TO, PeriodFilter
from kit.money.amount_input import InvalidAmount, minor_units
from kit.money.money import money


class AmountFilter(PeriodFilter):
    """A filter of a list by amounts in one currency, by default the first one, and by days."""

    currency = forms.ChoiceField(required=False)
    amount_from = forms.CharField(required=False, max_length=24, label="At least")
    amount_to = forms.CharField(required=False, max_length=24, label="At most")

    def __init__(self, *args: Any, currencies: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_choices(self, "currency", [("", "Any"), *((each, each) for each in currencies)])
        self.main_currency = next(iter(currencies), "NGN")

    def clean(self) -> dict[str, Any]:
        """Set the amounts in minor units."""
        given = super().clean()
        currency = given.get("currency") or self.main_currency
        for name in ("amount_from", "amount_to"):
            if given.get(name):
                try:
                    given[name] = minor_units(given[name], currency)
                except InvalidAmount as refusal:
                    self.add_error(name, str(refusal))
        return given

    def shown(self, names: Sequence[str]) -> str:
        if "amount_from" not in names:
            return super().shown(names)
        given = self.cleaned_data
        currency = given.get("currency") or self.main_currency
        least, most = (
            money(each, currency) if each else ""
            for each in (given.get("amount_from"), given.get("amount_to"))
        )
        if least and most:
            return f"{least} {TO} {most.removeprefix(currency).strip()}"
        return f"From {least}" if least else f"Up to {most}" if most else given.get("currency") or ""
