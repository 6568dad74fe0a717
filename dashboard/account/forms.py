"""The sign-in form."""

from django import forms

from dashboard.ui.forms import PageForm


class SignInForm(PageForm):
    email = forms.EmailField(max_length=254)
    password = forms.CharField(max_length=1024, strip=False)
