"""Choices of form fields that depend on the request."""

from collections.abc import Iterable

from django import forms


def set_choices(form: forms.Form, name: str, choices: Iterable[tuple[str, str]]) -> None:
    """Set the choices of one field of a form.

    :raises TypeError: the field has no choices
    """
    field = form.fields[name]
    if not isinstance(field, forms.ChoiceField):
        raise TypeError(f"{name} is a {type(field).__name__}, which has no choices.")
    field.choices = list(choices)
