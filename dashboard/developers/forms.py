"""Forms of the developer pages."""

from django import forms

from dashboard.ui.forms.forms import PageForm
from kit.money.form_fields import PastedField
from kit.text.display_names import validate_name
from merchants.models import ApiKey

OVERLAPS = [(0, "immediately"), (1, "in 1 hour"), (24, "in 1 day"), (72, "in 3 days"), (168, "in 7 days")]
METHODS = [(each, each) for each in ("GET", "POST")]


class NewKeyForm(PageForm):
    name = PastedField(max_length=100, validators=[validate_name])
    access = forms.ChoiceField(choices=ApiKey.Access.choices, initial=ApiKey.Access.FULL)

    def clean_name(self) -> str:
        return " ".join(self.cleaned_data["name"].split())


class RotateKeyForm(PageForm):
    """Hours until the old key expires."""

    overlap = forms.TypedChoiceField(choices=OVERLAPS, coerce=int, initial=24)


class SignatureForm(PageForm):
    """A request as it was sent. It isn't stored."""

    method = forms.ChoiceField(choices=METHODS, initial="POST")
    target = forms.CharField(max_length=2048, strip=True, initial="/api/payments")
    headers = forms.CharField(max_length=8192)
    body = forms.CharField(max_length=65536, required=False, strip=False)
    secret = forms.CharField(max_length=200, required=False)
