"""Changes by staff need a reason. The audit trail records it with the values before and after."""

from typing import Any

from django import forms
from django.db.models import Model
from django.http import HttpRequest
from django.utils import timezone

from merchants.admin.base import StaffAdmin, StaffForm
from merchants.models import Business
from merchants.people import audit
from merchants.people.request_actors import person_acting


class ReasonForm(StaffForm):
    """A form with a required reason."""

    reason = forms.CharField(max_length=255, help_text="Recorded in the audit trail.")


class ReasonedAdmin(StaffAdmin):
    """Rows that staff can change, with a reason."""

    form = ReasonForm
    audited_as = ""  # the action's name in the audit trail

    def business_of(self, obj: Any) -> Business | None:
        """Return the business whose audit trail records a change, or None for global settings."""
        return None

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        fields = [name for name in super().get_fields(request, obj) if name != "reason"]
        may = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        return [*fields, "reason"] if may else fields

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save what the form changes. Others may have changed the rest since the row was read, such as closed it."""
        if not change:
            super().save_model(request, obj, form, change)
            return
        columns = {field.name for field in obj._meta.concrete_fields}
        obj.save(update_fields=[name for name in form.changed_data if name in columns])

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Write the audit entry after all changes are saved. The whole view is one transaction."""
        super().save_related(request, form, formsets, change)
        changed = [name for name in form.changed_data if name != "reason"]
        audit.record(
            action=self.audited_as,
            actor=person_acting(request),
            business=self.business_of(form.instance),
            target=str(form.instance)[:100],
            before={name: _plain(form.get_initial_for_field(form.fields[name], name)) for name in changed},
            after={name: _plain(form.cleaned_data[name]) for name in changed}
            | {"reason": form.cleaned_data["reason"]},
            now=timezone.now(),
        )


def _plain(value: Any) -> Any:
    """Return a form's value as the audit trail stores it."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Model):
        return str(value)
    try:
        return sorted(_plain(each) for each in value)
    except TypeError:
        return str(value)
