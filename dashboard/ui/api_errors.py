"""What the API's own rules refuse, put beside the fields of a form."""

from typing import Any

from django.forms import Form


def explain(form: Form, detail: Any, *, parts: tuple[str, ...] = ()) -> None:
    """Add the API's errors to a form. `parts` are objects whose fields the form has as its own."""
    found = dict(detail) if isinstance(detail, dict) else {"": detail}
    for part in parts:
        inner = found.pop(part, {})
        found |= inner if isinstance(inner, dict) else {"": inner}
    for name, reasons in found.items():
        sentences = [str(reason) for reason in (reasons if isinstance(reasons, list) else [reasons])]
        form.add_error(name if name in form.fields else None, sentences)
