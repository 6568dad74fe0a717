"""Forms of virtual accounts. New accounts are also validated by the API's rules."""

from __future__ import annotations

from typing import Any

from django import forms

from dashboard.ui.forms.field_choices import set_choices
from dashboard.ui.forms.forms import PageForm
from kit.money.form_fields import PastedField


class NewAccountForm(PageForm):
    """The fields that all kinds of accounts have."""

    kind: dict[str, str]
    personal = ("first_name", "last_name")

    reference = PastedField(max_length=100)
    currency = forms.ChoiceField()
    email = PastedField(max_length=254, label="Email")
    first_name = PastedField(max_length=100)
    last_name = PastedField(max_length=100)
    address_line1 = forms.CharField(max_length=255, label="Address")
    address_line2 = forms.CharField(max_length=255, label="Address line 2", required=False)
    city = forms.CharField(max_length=100)
    state = forms.CharField(max_length=100)
    postal_code = forms.CharField(max_length=20)
    country = forms.CharField(max_length=3, initial="NGA", help_text="Three-letter code, such as NGA.")

    ADDRESS = ("address_line1", "address_line2", "city", "state", "postal_code", "country")

    def __init__(self, *args: Any, currencies: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_choices(self, "currency", ((each, each) for each in currencies))

    def order(self) -> dict[str, Any]:
        """Return the body of the equivalent POST /api/virtual-accounts. The form must be valid."""
        given = {name: value for name, value in self.cleaned_data.items() if value}
        address = {name: given.pop(name) for name in self.ADDRESS if name in given}
        return {**self.kind, **given, **({"address": address} if address else {})}


class DynamicForm(NewAccountForm):
    """An account that takes a fresh number for each payment."""

    kind = {"type": "dynamic"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in self.ADDRESS:  # all or none: the API says which is missing
            self.fields[name].required = False
        self.fields["country"].initial = ""


class StaticForm(NewAccountForm):
    """A customer's own account."""

    kind = {"type": "static"}

    middle_name = PastedField(max_length=100)
    phone_number = PastedField(max_length=11)
    dob = forms.CharField(label="Date of birth", widget=forms.DateInput(attrs={"type": "date"}))
    gender = forms.ChoiceField(choices=[("female", "Female"), ("male", "Male")])
    bvn = PastedField(max_length=11, label="BVN", help_text="11 digits. Stored encrypted.")

    field_order = ("reference", "currency", "first_name", "middle_name", "last_name", "email", "phone_number")


class BusinessForm(NewAccountForm):
    """A business customer's own account."""

    kind = {"type": "static", "account_type": "business"}

    first_name = last_name = None  # type: ignore[assignment]  # so Django leaves a field of a base class out
    business_name = PastedField(max_length=200)
    phone_number = PastedField(max_length=11)
    bvn = PastedField(max_length=11, label="BVN", help_text="11 digits. Stored encrypted.")

    field_order = ("reference", "currency", "business_name", "email", "phone_number", "bvn")


KINDS: dict[str, type[NewAccountForm]] = {
    "dynamic": DynamicForm,
    "static": StaticForm,
    "business": BusinessForm,
}
