"""Forms of the settings: one for each group, which is saved for itself."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.core.validators import URLValidator
from django.db import transaction

from dashboard.ui.forms.field_choices import set_choices
from dashboard.ui.forms.forms import PageForm
from kit import colours
from kit.db.card_number_fields import refuse_card_number
from kit.money.amount_input import InvalidAmount, amounts_by_currency, amounts_in_words
from kit.money.form_fields import EmailField, PastedField
from kit.text.display_names import validate_name
from kit.text.phone_numbers import validate_phone_number
from kit.time import time_zones
from merchants.businesses import business_settings
from merchants.businesses.logos import change_logo, read_logo
from merchants.models import Business
from merchants.people.audit import Actor

# Colours on which white text is readable; the second is the standard one.
SWATCHES = (
    ("#34348f", "Indigo"),
    ("#0b6e69", "Sluice"),
    ("#1d4fa3", "Royal"),
    ("#1f6b3a", "Forest"),
    ("#b23a2f", "Coral"),
    ("#8a5a00", "Ochre"),
    ("#7a2f74", "Plum"),
    ("#22302c", "Ink"),
)
STANDARD_COLOUR = "#0b6e69"


class SettingForm(PageForm):
    """A group of settings. Its fields are named after the business's."""

    business: Business

    @classmethod
    def of(
        cls, business: Business, data: Mapping[str, Any] | None = None, files: Mapping[str, Any] | None = None
    ) -> SettingForm:
        """Return the form with the stored values, or with what was entered."""
        form = cls(data, files, initial={name: getattr(business, name, None) for name in cls.base_fields})
        form.business = business
        return form

    def save(self, *, actor: Actor, now: datetime) -> None:
        """Change the settings. The form must be valid."""
        business_settings.change(business=self.business, actor=actor, now=now, **self.cleaned_data)


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


class LookForm(SettingForm):
    """Name, logo and colour on payers' pages. A colour that was typed in replaces the chosen swatch."""

    name = PastedField(
        label="Business name",
        max_length=200,
        validators=[validate_name],
        help_text="On payment links, receipts and invoices.",
    )
    new_logo = forms.FileField(
        label="Logo", required=False, help_text="PNG or JPEG, best square, up to 100 KB and 1,024 pixels."
    )
    removes_logo = forms.BooleanField(label="Remove the logo", required=False)
    swatch = forms.ChoiceField(label="Colour", choices=SWATCHES, required=False)
    accent_color = ColourField(
        label="Accent colour",
        required=False,
        max_length=7,
        validators=[colours.validate_ground],
        help_text="Another colour: # and six hexadecimal digits, such as #0b6e69. White text must be readable on it.",
    )

    def clean_new_logo(self) -> Any:
        file = self.cleaned_data["new_logo"]
        return read_logo(file.read(settings.MAX_LOGO_BYTES + 1)) if file else None

    @property
    def shown_colour(self) -> str:
        """Return the colour of payers' pages at this moment."""
        return self.business.accent_color or STANDARD_COLOUR

    @property
    def chosen_swatch(self) -> str:
        return str(self["swatch"].value() or self.shown_colour)

    def save(self, *, actor: Actor, now: datetime) -> None:
        """Change what is set, and the logo if there is another one or none from now on. The form must be valid."""
        given = self.cleaned_data
        colour = given["accent_color"]
        if "accent_color" not in self.changed_data and given["swatch"] not in {"", self.shown_colour}:
            colour = given["swatch"]
        with transaction.atomic():
            business_settings.change(
                business=self.business, actor=actor, now=now, name=given["name"], accent_color=colour
            )
            if given["new_logo"] is not None or given["removes_logo"]:
                change_logo(business=self.business, image=given["new_logo"], actor=actor, now=now)


class SupportForm(SettingForm):
    """Where payers ask questions."""

    support_email = EmailField(
        label="Email",
        required=False,
        max_length=254,
        validators=[refuse_card_number],
        widget=forms.TextInput(attrs={"inputmode": "email"}),
    )
    support_phone = PastedField(
        label="Phone",
        required=False,
        max_length=30,
        validators=[validate_phone_number],
        widget=forms.TextInput(attrs={"inputmode": "tel"}),
    )
    support_url = PastedField(
        label="Help page",
        required=False,
        widget=forms.TextInput(attrs={"inputmode": "url"}),
        max_length=300,
        validators=[
            URLValidator(
                schemes=["https"], message="Enter an https address, such as https://example.com/help."
            ),
            refuse_card_number,
        ],
    )


class KeysForm(SettingForm):
    keys_decide_unapplied = forms.BooleanField(
        label="API keys may decide about unapplied transfers", required=False
    )


class WebhookKeysForm(SettingForm):
    keys_change_webhooks = forms.BooleanField(label="API keys may change webhook URLs", required=False)


class ThreeDSecureForm(SettingForm):
    provider_may_decide_three_ds = forms.BooleanField(
        label="The payment provider may decide about 3-D Secure", required=False
    )


class MinimumsForm(SettingForm):
    """The smallest payment of each currency, as one line: `NGN 100.00; USD 1.00`."""

    minimum_amounts = forms.CharField(label="Smallest payment (minimum)", required=False, max_length=400)

    def get_initial_for_field(self, field: forms.Field, field_name: str) -> str:
        return amounts_in_words(super().get_initial_for_field(field, field_name))

    def clean_minimum_amounts(self) -> dict[str, int]:
        try:
            return amounts_by_currency(self.cleaned_data["minimum_amounts"], self.business.currencies)
        except InvalidAmount as invalid:
            raise forms.ValidationError(str(invalid)) from invalid


class BillingForm(SettingForm):
    """What invoices of our fees say about the business."""

    tax_id = PastedField(label="Tax ID", required=False, max_length=40)
    billing_address = forms.CharField(
        label="Billing address", required=False, max_length=500, widget=forms.Textarea(attrs={"rows": 3})
    )


GENERAL: dict[str, type[SettingForm]] = {
    "look": LookForm,
    "support": SupportForm,
    "zone": TimeZoneForm,
    "billing": BillingForm,
    "keys": KeysForm,
    "webhook_keys": WebhookKeysForm,
}
PAYMENTS: dict[str, type[SettingForm]] = {"minimum": MinimumsForm, "three_ds": ThreeDSecureForm}
