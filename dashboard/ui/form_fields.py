"""Form fields that several areas use."""

from typing import Any

from django import forms


class ReferenceField(forms.RegexField):
    """A merchant's reference of a resource."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            regex=r"[A-Za-z0-9._:-]{1,100}\Z",
            error_messages={"invalid": "Use 1 to 100 letters, digits, and . _ : -"},
            **options,
        )
