"""Submit admin forms that move money: perform the action, or propose it under the four-eyes rule."""

from collections.abc import Callable
from typing import Any, ClassVar, cast

from django.contrib import admin, messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html

from kit.api.errors import Problem
from kit.db import clock
from merchants.admin import ReadOnlyAdmin
from merchants.models import User
from merchants.request_actors import person_acting
from payments.models import Proposal
from payments.services.staff import four_eyes
from payments.services.staff.staff_actions import StaffAction


def submit(request: HttpRequest, make: Callable[[], StaffAction], *, done: str) -> None:
    """Submit an action, and show its result or refusal as a message."""
    try:
        proposal = submitted(request, make())
    except Problem as refused:
        messages.error(request, str(refused.detail))
    else:
        _show(request, proposal, done=done)


def _show(request: HttpRequest, proposal: Proposal | None, *, done: str) -> None:
    if proposal is None:
        messages.success(request, done)
    else:
        _report(request, proposal)


def submitted(request: HttpRequest, action: StaffAction) -> Proposal | None:
    """Perform an action at once, or return it as a proposal.

    :raises Problem: the state doesn't allow it
    """
    return four_eyes.submit(
        action, user=cast("User", request.user), actor=person_acting(request), now=clock.now()
    )


def _report(request: HttpRequest, proposal: Proposal) -> None:
    address = reverse("admin:payments_proposal_change", args=[proposal.pk])
    link = format_html('<a href="{}">proposal</a>', address)
    messages.success(request, format_html("Your {} awaits another person's confirmation.", link))


def _refused(form: Any, *, field: str, refusal: str) -> Any:
    """Return a form that shows a refusal at a field."""

    class Refused(form):
        def clean(self) -> Any:
            cleaned = super().clean()
            self.add_error(field, refusal)
            return cleaned

    return Refused


class SubmittedRowAdmin(ReadOnlyAdmin):
    """Admin of rows whose addition moves money."""

    refused_field: ClassVar[str]  # shows why the action was refused

    def action_of(self, obj: Any, form: Any) -> StaffAction:
        """Return the action to perform."""
        raise NotImplementedError

    def added_row(self, obj: Any) -> Model:
        """Return the row that the action created."""
        raise NotImplementedError

    def has_add_permission(self, request: HttpRequest) -> bool:
        return admin.ModelAdmin.has_add_permission(self, request)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> Any:
        try:
            return super().add_view(request, form_url, extra_context)
        except Problem as refused:
            # The transaction of the first call was rolled back. The second one shows the form as it was filled in.
            cast("Any", request).refusal = str(refused.detail)
            return super().add_view(request, form_url, extra_context)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, obj, change, **kwargs)
        refusal = getattr(request, "refusal", None)
        return form if refusal is None else _refused(form, field=self.refused_field, refusal=refusal)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        obj.proposal = submitted(request, self.action_of(obj, form))
        if obj.proposal is None:
            obj.pk = self.added_row(obj).pk

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Log an added row. A proposal is in the audit trail instead."""
        return super().log_addition(request, obj, message) if obj.proposal is None else None

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        if obj.proposal is None:
            return super().response_add(request, obj, post_url_continue)
        _report(request, obj.proposal)
        return redirect("admin:payments_proposal_change", obj.proposal.pk)
