"""The sign-in form."""

from django import forms

from dashboard.ui.forms.forms import PageForm
from kit.money.form_fields import EmailField


class SignInForm(PageForm):
    email = EmailField(max_length=254)
    password = forms.CharField(max_length=1024, strip=False)
