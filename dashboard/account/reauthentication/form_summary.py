"""Summaries of refused forms: the labels and values that their pages show, not field names and ids.

Forms of the administration are described by its model admins, and only to staff who may submit them. Otherwise, users
could look up names by posting ids.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from django import forms
from django.apps import apps
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import HttpRequest, QueryDict
from django.urls import Resolver404, resolve

from dashboard.account.reauthentication.refused_forms import RefusedForm
from kit import banks
from kit.text.masking import mask_card_numbers

LONGEST = 200  # characters of a value

HIDDEN = {"once", "made", "step", "next", "cause", "select_across", "index", "_selected_action", "action"}
CONFIDENTIAL = {"bvn"}  # resubmitted, but not shown
LABELS = {
    "bank_code": "Bank",
    "url": "URL",
    "redirect_url": "Redirect URL",
    "bvn": "BVN",
    "address_line1": "Address",
}
ON = "on"  # what browsers submit for a ticked checkbox

Pair = tuple[str, str]  # label and value


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The action of a form, and what was entered in it."""

    action: str  # "refund a payment", "change the user"
    target: str = ""  # the record that it changes, such as "ada@example.com"
    entered: list[Pair]


def summary(request: HttpRequest, form: RefusedForm) -> Summary:
    """Describe a refused form to the user who submitted it."""
    of_admin = _summary_by_admin(request, form)
    if of_admin is not None:
        return of_admin
    return Summary(action=form.action, entered=list(_as_entered(form)))


def _as_entered(form: RefusedForm) -> Iterator[Pair]:
    for name, values in form.fields or []:
        if any(values) and not _is_hidden(name):
            label = LABELS.get(name) or name.replace("_", " ").replace("-", " ").strip().capitalize()
            yield label, _shown(name, values)


def _is_hidden(name: str) -> bool:
    return name in HIDDEN or name.startswith(("_", "initial-")) or name.endswith("_FORMS")


def _shown(name: str, values: list[str]) -> str:
    if name in CONFIDENTIAL:
        return "Entered"
    if values == [ON]:
        return "Yes"
    bank = banks.find(values[0]) if name == "bank_code" else None
    return bank.name if bank else _cut(", ".join(values))


# The administration ----------------------------------------------------------------------------------


def _summary_by_admin(request: HttpRequest, form: RefusedForm) -> Summary | None:
    """Describe a form of the administration; None for other forms, and for users who may not submit it."""
    try:
        match = resolve(urlsplit(form.path).path)
    except Resolver404:
        return None
    pages = _pages_of(match.route)
    if pages is None or form.fields is None or not admin.site.has_permission(request):
        return None
    ids = [value for name, value in match.kwargs.items() if name.endswith("id")]
    row = pages.get_object(request, unquote(str(ids[0]))) if ids else None
    if ids and row is None:
        return None
    if match.route.endswith(("/add/", "/change/")):
        return _summary_of_row(request, form, pages, row)
    return _summary_of_action(request, form, pages, row)


def _pages_of(route: str) -> Any:
    """Return the model admin of a route; None if there is none."""
    return next(
        (
            pages
            for pages in map(admin.site.get_model_admin, filter(admin.site.is_registered, apps.get_models()))
            if route.startswith(f"admin/{pages.opts.app_label}/{pages.opts.model_name}/")
        ),
        None,
    )


def _summary_of_row(request: HttpRequest, form: RefusedForm, pages: Any, row: Model | None) -> Summary | None:
    may = pages.has_change_permission(request, row) if row else pages.has_add_permission(request)
    if not may:
        return None
    data = QueryDict(mutable=True)
    for name, values in form.fields or []:
        data.setlist(name, values)
    posted = pages.get_form(request, row, change=row is not None)(data, instance=row)
    entered = list(_changes(posted, is_change=row is not None))
    if row is None:
        return Summary(action=form.action, entered=entered)
    return Summary(action=f"change the {pages.opts.verbose_name}", target=_cut(str(row)), entered=entered)


def _summary_of_action(
    request: HttpRequest, form: RefusedForm, pages: Any, row: Model | None
) -> Summary | None:
    if not pages.has_view_permission(request, row):
        return None
    entered = [*(_chosen_rows(request, form, pages) if row is None else ()), *_as_entered(form)]
    return Summary(action=form.action, target=_cut(str(row)) if row else "", entered=entered)


def _changes(posted: forms.ModelForm, *, is_change: bool) -> Iterator[Pair]:
    """Yield the fields that the form changes. An unticked checkbox isn't submitted, but may be a change."""
    for name in posted.changed_data:
        if name in HIDDEN:
            continue
        field = posted.fields[name]
        widget_value = field.widget.value_from_datadict(posted.data, posted.files, name)
        value = _readable(field, widget_value)
        before = _readable(field, posted.get_initial_for_field(field, name))
        shows_before = is_change and before and before != value
        label = str(field.label or name.replace("_", " "))
        shown = value or "None"
        yield label[:1].upper() + label[1:], f"{shown} (was {before})" if shows_before else shown


def _readable(field: forms.Field, value: Any) -> str:
    """Return a field's value as its page shows it: names for ids, Yes and No for checkboxes."""
    if isinstance(field, forms.BooleanField):
        return "Yes" if value else "No"
    try:
        if isinstance(field, forms.ModelMultipleChoiceField):
            return _cut(", ".join(sorted(map(str, field.clean(value or [])))))
        if isinstance(field, forms.ModelChoiceField):
            return _cut(str(field.clean(value)) if value else "")
    except ValidationError:
        return _cut(str(value))
    if isinstance(field, forms.ChoiceField):
        value = dict(field.choices).get(value, value)  # type: ignore[arg-type]
    return _cut("" if value is None else str(value))


def _chosen_rows(request: HttpRequest, form: RefusedForm, pages: Any) -> Iterator[Pair]:
    """Yield the action of a list, and the number of selected rows."""
    posted = dict(form.fields or [])
    name = next(iter(posted.get("action", [])), "")
    if name in (actions := pages.get_actions(request)):
        yield "Action", str(actions[name][2])
        yield "Selected rows", str(len(posted.get("_selected_action", [])))


def _cut(text: str) -> str:
    """Return a value as one short line. White space is collapsed, as forms ignore it around a value."""
    line = mask_card_numbers(" ".join(text.split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
