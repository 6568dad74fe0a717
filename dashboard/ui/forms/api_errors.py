"""Errors of the API's validation, as errors of form fields."""

from typing import Any

from django.forms import Form


def add_api_errors(form: Form, detail: Any, *, nested: tuple[str, ...] = ()) -> None:
    """Add the API's errors to a form. `nested` names objects whose fields are fields of the form."""
    found = dict(detail) if isinstance(detail, dict) else {"": detail}
    for name in nested:
        inner = found.pop(name, {})
        found |= inner if isinstance(inner, dict) else {"": inner}
    for name, reasons in found.items():
        messages = [str(reason) for reason in (reasons if isinstance(reasons, list) else [reasons])]
        form.add_error(name if name in form.fields else None, messages)
