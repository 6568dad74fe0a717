"""Forms of virtual accounts. New accounts are also validated by the API's rules."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import Q, QuerySet

from dashboard.ui.field_choices import set_choices
from dashboard.ui.list_filters import ListFilter, choices
from dashboard.ui.metadata_search import LONGEST_SEARCH, with_metadata
from merchants.models import Business
from virtual_accounts.models import VirtualAccount

Type, Status = VirtualAccount.Type, VirtualAccount.Status


class AccountFilter(ListFilter):
    q = forms.CharField(required=False, max_length=LONGEST_SEARCH, label="Search")
    type = forms.ChoiceField(required=False, choices=choices(Type.choices))
    status = forms.ChoiceField(required=False, choices=choices(Status.choices))

    def accounts(self, business: Business) -> list[QuerySet[VirtualAccount]]:
        """Return the matching accounts, one queryset for each meaning of the search text. The form must be valid."""
        wanted = self.cleaned_data
        mine = VirtualAccount.objects.of(business).with_current_number()
        for name in ("type", "status"):
            if wanted[name]:
                mine = mine.filter(**{name: wanted[name]})
        text = wanted["q"]
        meanings = (
            [Q(reference=text), Q(account_number=text), Q(numbers=text), Q(email__iexact=text)]
            if text
            else [Q()]
        )
        meanings += with_metadata(text, model=VirtualAccount, business=business)
        return [mine.filter(meaning) for meaning in meanings]


class NewAccountForm(forms.Form):
    """The fields that all kinds of accounts have."""

    kind: dict[str, str]
    personal = ("first_name", "last_name")

    reference = forms.CharField(max_length=100)
    currency = forms.ChoiceField()
    email = forms.CharField(max_length=254, label="Email")
    first_name = forms.CharField(max_length=100)
    last_name = forms.CharField(max_length=100)
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
        return {**self.kind, **given, "address": address}


class DynamicForm(NewAccountForm):
    """An account that takes a fresh number for each payment."""

    kind = {"type": "dynamic"}


class StaticForm(NewAccountForm):
    """A customer's own account."""

    kind = {"type": "static"}

    middle_name = forms.CharField(max_length=100)
    phone_number = forms.CharField(max_length=11)
    dob = forms.CharField(label="Date of birth", widget=forms.DateInput(attrs={"type": "date"}))
    gender = forms.ChoiceField(choices=[("female", "Female"), ("male", "Male")])
    bvn = forms.CharField(max_length=11, label="BVN", help_text="11 digits. Stored encrypted.")

    field_order = ("reference", "currency", "first_name", "middle_name", "last_name", "email", "phone_number")


class BusinessForm(NewAccountForm):
    """A business customer's own account."""

    kind = {"type": "static", "account_type": "business"}

    first_name = last_name = None  # type: ignore[assignment]  # so Django leaves a field of a base class out
    business_name = forms.CharField(max_length=200)
    phone_number = forms.CharField(max_length=11)
    bvn = forms.CharField(max_length=11, label="BVN", help_text="11 digits. Stored encrypted.")

    field_order = ("reference", "currency", "business_name", "email", "phone_number", "bvn")


KINDS: dict[str, type[NewAccountForm]] = {
    "dynamic": DynamicForm,
    "static": StaticForm,
    "business": BusinessForm,
}
