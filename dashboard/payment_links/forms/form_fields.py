"""Fields of the form of a payment link, as people enter them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from django import forms
from django.utils import timezone

WHOLE_NUMBER = re.compile(r"[0-9]{1,9}|[0-9]{1,3}(,[0-9]{3}){1,2}")
# What browsers send for a `datetime-local` input, and what people type where the browser has none.
MOMENT = "%Y-%m-%dT%H:%M"
MOMENTS = (MOMENT, "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M")


class AccountField(forms.ChoiceField):
    """A virtual account, chosen from the newest ones. Any other ID is for the API's rules to refuse or accept."""

    def validate(self, value: Any) -> None:
        forms.Field.validate(self, value)


class LinesField(forms.CharField):
    r"""Text of several lines. Browsers send `\r\n` at their ends; `\n` is stored."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return text.replace("\r\n", "\n") if isinstance(text, str) else text


class AmountField(forms.CharField):
    """An amount in major units. Its currency is another field, so the form reads it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=24, widget=forms.TextInput(attrs={"inputmode": "decimal"}), **options)


class WholeNumberField(forms.CharField):
    """A whole number, with or without separators of thousands. The value is its digits."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=11, widget=forms.TextInput(attrs={"inputmode": "numeric"}), **options)

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if text and not WHOLE_NUMBER.fullmatch(text):
            raise forms.ValidationError("Enter a whole number, such as 20.")
        return (text or "").replace(",", "")


class MomentField(forms.DateTimeField):
    """A time to the minute in the active time zone. Its initial value is text, as `as_typed` returns it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            input_formats=MOMENTS,
            error_messages={"invalid": "Enter a date and a time, such as 2027-01-31 18:00."},
            **options,
        )
        self.widget.attrs["type"] = (
            "datetime-local"  # widgets take it out of the attributes they are made with
        )

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare the texts. In the hour that a day has twice, the initial one can't be read."""
        return str(initial or "") != str(data or "").strip().replace(" ", "T")


def as_typed(moment: datetime | None) -> str:
    """Return a time as a `datetime-local` input takes it, in the active time zone."""
    return timezone.localtime(moment).strftime(MOMENT) if moment else ""
