"""Forms of the settings: one for each group, which is saved for itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from dashboard.ui.field_choices import set_choices
from dashboard.ui.forms import PageForm
from kit import colours
from kit.money.amount_input import InvalidAmount, minor_units, named_currencies
from kit.money.money import money
from kit.time import time_zones
from merchants.models import Business


class SettingForm(PageForm):
    """A group of settings. Its fields are named after the business's."""

    business: Business

    @classmethod
    def of(cls, business: Business, data: Mapping[str, Any] | None = None) -> SettingForm:
        """Return the form with the stored values, or with what was entered."""
        form = cls(data, initial={name: getattr(business, name) for name in cls.base_fields})
        form.business = business
        return form


class TimeZoneForm(SettingForm):
    time_zone = forms.ChoiceField(
        label="Time zone", error_messages={"invalid_choice": "Choose a time zone from the list."}
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_choices(self, "time_zone", ((name, name) for name in time_zones.names()))


class ColourField(forms.CharField):
    """A colour in lower case, so that it is stored in one spelling."""

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).lower()


class AccentColourForm(SettingForm):
    accent_color = ColourField(
        label="Accent colour", required=False, max_length=7, validators=[colours.validate_ground]
    )


class KeysForm(SettingForm):
    keys_decide_unapplied = forms.BooleanField(
        label="API keys may decide about unapplied transfers", required=False
    )


class MinimumsForm(SettingForm):
    """The smallest payment of each currency, as one line: `NGN 100.00; USD 1.00`."""

    minimum_amounts = forms.CharField(label="Smallest payment (minimum)", required=False, max_length=400)

    def get_initial_for_field(self, field: forms.Field, field_name: str) -> str:
        stored: dict[str, int] = super().get_initial_for_field(field, field_name)
        return "; ".join(money(amount, currency) for currency, amount in sorted(stored.items()))

    def clean_minimum_amounts(self) -> dict[str, int]:
        """Return the minor units by currency. An amount without a currency is in the business's first."""
        minimums: dict[str, int] = {}
        for text in filter(None, map(str.strip, self.cleaned_data["minimum_amounts"].split(";"))):
            currency = min(named_currencies(text), default=self.business.currencies[0])
            if currency not in self.business.currencies:
                raise forms.ValidationError(f"The business is not enabled for {currency}.")
            if currency in minimums:
                raise forms.ValidationError(f"Enter one amount for {currency}.")
            try:
                minimums[currency] = minor_units(text, currency)
            except InvalidAmount as invalid:
                raise forms.ValidationError(str(invalid)) from invalid
        return minimums


FORMS: dict[str, type[SettingForm]] = {
    "zone": TimeZoneForm,
    "colour": AccentColourForm,
    "minimum": MinimumsForm,
    "keys": KeysForm,
}
