"""Form fields of the dashboard and of staff's pages, with the rules of the API's fields of the same names."""

from typing import Any

from django import forms

from kit import banks
from kit.api.fields.strict_fields import REFERENCE
from kit.text.display_names import pasted


class PastedField(forms.CharField):
    """A text that people paste or let their browser fill in: a name, an address, a number."""

    def to_python(self, value: Any) -> Any:
        return super().to_python(pasted(value) if isinstance(value, str) else value)


class EmailField(PastedField, forms.EmailField):
    """An e-mail address."""


class ReferenceField(PastedField, forms.RegexField):
    """A merchant's reference of a resource."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            regex=rf"\A(?:{REFERENCE})\Z",
            error_messages={"invalid": "Use 1 to 100 letters, digits, and . _ : - (but not . or .. alone)."},
            **options,
        )


class AccountNumberField(PastedField, forms.RegexField):
    """The ten-digit number of a bank account."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            regex=rf"\A{banks.ACCOUNT_NUMBER.pattern}\Z",
            widget=forms.TextInput(attrs={"inputmode": "numeric", "maxlength": 10}),
            error_messages={"invalid": "Enter exactly 10 digits."},
            **options,
        )


class BankField(forms.ChoiceField):
    """A listed bank, by its code. The names can show the codes too."""

    def __init__(self, *, shows_codes: bool = False, **options: Any) -> None:
        names = [
            (bank.code, f"{bank.name} ({bank.code})" if shows_codes else bank.name)
            for bank in banks.all_banks()
        ]
        super().__init__(choices=[("", "Choose a bank"), *names], **options)
