"""Submit admin forms that move money or change rights: perform the action, or propose it under the four-eyes rule."""

from collections.abc import Callable
from typing import Any, ClassVar, cast

from django.conf import settings
from django.contrib import messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html

from kit.api.errors import Problem
from kit.api.refusal_messages import refusals_shown
from kit.db import clock
from merchants.admin import ReadOnlyAdmin, StaffAdmin
from merchants.models import User
from merchants.people.access import Who
from merchants.people.request_actors import person_acting
from payments.models import InvalidState, Proposal
from payments.services.staff import four_eyes, made_about
from payments.services.staff.made_about import MadeAbout
from payments.services.staff.staff_action import StaffAction
from payments.services.staff.staff_actions import OF_SUPERUSERS


class ChangedSincePage(InvalidState):
    default_detail = (
        "This has changed since you opened the page. Nothing was done. Look at it and decide again."
    )


def submit(
    request: HttpRequest, make: Callable[[], StaffAction], *, done: str, seen: MadeAbout | None = None
) -> None:
    """Submit an action, and show its result or refusal as a message.

    `seen` is the present state that its page shows, if the action depends on more, such as a chosen account.
    """
    with refusals_shown(request):
        action = make()
        require_seen(request, action.made_about if seen is None else seen)
        _show(request, submitted(request, action), done=done)


def require_seen(request: HttpRequest, now: MadeAbout) -> None:
    """Check that the page with the form, if it was sent from one, showed the present state.

    :raises ChangedSincePage: it showed another state
    """
    seen = request.POST.get("seen")
    if seen is not None and seen != made_about.fingerprint(now):
        raise ChangedSincePage


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


ANOTHER = "Another person must confirm this."
ANOTHER_SUPERUSER = "Another superuser must confirm changes of rights and of staff."
ALONE = (
    "You are the only superuser, so this takes effect without another person. Once there is another superuser, changes "
    "of rights take two people."
)


class SubmittedForm(StaffAdmin):
    """Admin of rows whose form is an action of staff: performed at once, or proposed."""

    needs_second_person = True
    proposed_as: ClassVar[Proposal.Action]
    refused_field: ClassVar[str] = "reason"  # shows why the action was refused

    def action_of(self, obj: Any, form: Any) -> StaffAction:
        """Return the action to perform."""
        raise NotImplementedError

    def added_row(self, obj: Any) -> Model:
        """Return the row that the action created."""
        raise NotImplementedError

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().changeform_view(request, *args, **kwargs)
        except Problem as refused:
            # The transaction of the first call was rolled back. The second one shows the form as it was filled in.
            cast("Any", request).refusal = str(refused.detail)
            return super().changeform_view(request, *args, **kwargs)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, obj, change, **kwargs)
        refusal = getattr(request, "refusal", None)
        return form if refusal is None else _refused(form, field=self.refused_field, refusal=refusal)

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        may = self.has_add_permission(request) if row is None else self.has_change_permission(request, row)
        kind = self.proposed_as if settings.FOUR_EYES and may else ""
        if not kind:
            return {}
        if four_eyes.is_alone(cast("User", request.user), kind):
            return {"second_person": ALONE}
        return {"second_person": ANOTHER_SUPERUSER if kind in OF_SUPERUSERS else ANOTHER}

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        obj.proposal = submitted(request, self.action_of(obj, form))
        if obj.proposal is None and not change:
            obj.pk = self.added_row(obj).pk

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save nothing: the action has saved all of it, and audited it."""

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Log an added row. A proposal is in the audit trail instead."""
        return super().log_addition(request, obj, message) if obj.proposal is None else None

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        return super().log_change(request, obj, message) if obj.proposal is None else None

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        if obj.proposal is None:
            return super().response_add(request, obj, post_url_continue)
        return _to_proposal(request, obj.proposal)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return (
            super().response_change(request, obj)
            if obj.proposal is None
            else _to_proposal(request, obj.proposal)
        )


class SubmittedRowAdmin(SubmittedForm, ReadOnlyAdmin):
    """Admin of rows that are only added."""

    adders = Who.STAFF


def _to_proposal(request: HttpRequest, proposal: Proposal) -> HttpResponse:
    _report(request, proposal)
    return redirect("admin:payments_proposal_change", proposal.pk)
