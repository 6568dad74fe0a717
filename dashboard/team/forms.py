"""Forms of the team pages."""

from typing import Any

from django import forms
from django.contrib.auth.password_validation import validate_password

from dashboard.ui.forms.forms import PageForm
from kit.db.card_number_fields import refuse_card_number
from kit.money.form_fields import EmailField, PastedField
from kit.text.display_names import validate_name
from merchants.models import Member, User


class InviteForm(PageForm):
    email = EmailField(max_length=254, validators=[refuse_card_number])
    role = forms.ChoiceField(choices=Member.Role.choices, error_messages={"required": "Choose a role."})


class RoleForm(PageForm):
    role = forms.ChoiceField(choices=Member.Role.choices)


class JoinForm(PageForm):
    """Name and password of a new user."""

    name = PastedField(max_length=200, validators=[validate_name])
    password = forms.CharField(max_length=1024, strip=False)

    def __init__(self, *args: Any, email: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._email = email

    def clean_name(self) -> str:
        return " ".join(self.cleaned_data["name"].split())

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        validate_password(password, User(email=self._email, name=self.data.get("name", "")))
        return password
