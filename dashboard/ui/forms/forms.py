"""Forms of the dashboard, with messages that name the field."""

from __future__ import annotations

from typing import Any

from django import forms

_DJANGO = str(forms.Field.default_error_messages["required"])


class PageForm(forms.Form):
    """A form whose missing fields say what to enter. A field with a message of its own keeps it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            if str(field.error_messages.get("required")) == _DJANGO:
                verb = "Choose" if isinstance(field, forms.ChoiceField) else "Enter"
                field.error_messages["required"] = f"{verb} the {_in_sentence(str(self[name].label))}."


def _in_sentence(label: str) -> str:
    """Return a label as it reads inside a sentence. Acronyms keep their capitals.

    >>> _in_sentence("Account number"), _in_sentence("BVN"), _in_sentence("Webhook URL")
    ('account number', 'BVN', 'webhook URL')
    """
    return label if label[:2].isupper() else label[:1].lower() + label[1:]
