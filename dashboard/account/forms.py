"""The sign-in form."""

from django import forms


class SignInForm(forms.Form):
    email = forms.EmailField(max_length=254)
    password = forms.CharField(max_length=1024, strip=False)
