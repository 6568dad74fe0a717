"""Forms of the settings: one for each group, which is saved for itself."""

from __future__ import annotations

from typing import Any

from django import forms

from dashboard.ui.field_choices import set_choices
from dashboard.ui.forms import PageForm
from kit import colours, time_zones
from merchants.models import Business


class SettingForm(PageForm):
    """A group of settings. Its fields are named after the business's."""

    @classmethod
    def of(cls, business: Business) -> SettingForm:
        """Return the form with the stored values."""
        return cls(initial={name: getattr(business, name) for name in cls.base_fields})


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


FORMS: dict[str, type[SettingForm]] = {"zone": TimeZoneForm, "colour": AccentColourForm, "keys": KeysForm}
