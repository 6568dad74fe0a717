"""Admin pages of staff proposals, which a second person confirms or declines."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, reverse
from django.utils.html import format_html

from kit.api.errors import Problem
from kit.db import clock
from merchants.admin import ReadOnlyAdmin, by_business_name, by_id, exactly
from merchants.models import User
from merchants.request_actors import person_acting
from payments.models import Proposal
from payments.services.staff import four_eyes
from payments.services.staff.staff_actions import PERMISSIONS

Action = Proposal.Action
# The admin page of a proposal's target.
PAGES = {
    Action.APPROVE_BATCH: "payments_settlementbatch",
    Action.RELEASE_BATCH: "payments_settlementbatch",
    Action.CREDIT_UNAPPLIED: "virtual_accounts_unappliedmoney",
    Action.RETURN_UNAPPLIED: "virtual_accounts_unappliedmoney",
    Action.REVERSE_PAYOUT: "payments_transaction",
    Action.RESOLVE_TRANSACTION: "payments_transaction",
    Action.RESOLVE_OPERATION: "payments_cardoperation",
}


class DeclineForm(forms.Form):
    """Why a proposal is declined or withdrawn."""

    reason = forms.CharField(max_length=255)


class StateFilter(admin.SimpleListFilter):
    """Open proposals unless another state is chosen."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        decided = [state for state in Proposal.State.choices if state[0] != Proposal.State.OPEN]
        return [*decided, ("all", "All")]

    def choices(self, changelist: Any) -> Any:
        first, *others = super().choices(changelist)
        return [{**first, "display": "Open"}, *others]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if chosen == "all":
            return queryset
        if chosen in Proposal.State.values:
            return queryset.filter(state=chosen)
        return queryset.filter(state=Proposal.State.OPEN, expires_at__gt=clock.now())


@admin.register(Proposal)
class ProposalAdmin(ReadOnlyAdmin):
    change_form_template = "admin/payments/proposal.html"
    list_display = (
        "created_at",
        "action",
        "business",
        "amount",
        "reason",
        "proposed_by",
        "expires_at",
        "state",
    )
    amounts = ("amount",)
    list_filter = (StateFilter, "action")
    list_select_related = ("business", "proposed_by")
    searches = (by_id(), by_id("target"), exactly("proposed_by__email__iexact"), by_business_name())
    search_help_text = "ID of the proposal or of what it is about, email address, or name of the business."
    fields = (
        "action", "subject", "business", "amount", "details", "reason", "evidence", "state", "proposed_by",
        "created_at", "expires_at", "decided_by", "decided_at", "decision_reason",
    )  # fmt: skip
    readonly_fields = ("subject", "details")

    @admin.display(description="about")
    def subject(self, proposal: Proposal) -> str:
        page = PAGES.get(Action(proposal.action))
        if page is None:
            return "—"
        address = reverse(f"admin:{page}_change", args=[proposal.target])
        return format_html('<a href="{}">{}</a>', address, proposal.target)

    @admin.display(description="details")
    def details(self, proposal: Proposal) -> str:
        named = [f"{name.replace('_', ' ')}: {value}" for name, value in sorted(proposal.parameters.items())]
        return ", ".join(named) or "—"

    def get_urls(self) -> list[URLPattern]:
        actions = {"confirm": self.confirm, "decline": self.decline}
        return [*self.action_urls("proposal_id", actions), *super().get_urls()]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        if isinstance(row, Proposal) and _may_decide(request, row) and _is_open(row):
            is_own = row.proposed_by_id == request.user.pk
            return {"decline_form": DeclineForm(), "may_confirm": not is_own}
        return {}

    def confirm(self, request: HttpRequest, proposal_id: UUID) -> HttpResponse:
        _require_permission(request, proposal_id)
        return _decide(
            request, proposal_id, four_eyes.confirm, done="The proposal was confirmed and performed."
        )

    def decline(self, request: HttpRequest, proposal_id: UUID) -> HttpResponse:
        _require_permission(request, proposal_id)
        form = DeclineForm(request.POST)
        if not form.is_valid():
            messages.error(request, "Enter a reason of at most 255 characters.")
            return redirect("admin:payments_proposal_change", proposal_id)
        decline = partial(four_eyes.decline, reason=form.cleaned_data["reason"])
        return _decide(request, proposal_id, decline, done="The proposal was closed without being performed.")


def _decide(
    request: HttpRequest, proposal_id: UUID, decide: Callable[..., object], *, done: str
) -> HttpResponse:
    """Confirm or decline a proposal, and show the result as a message on its page."""
    try:
        decide(proposal_id, user=cast("User", request.user), actor=person_acting(request), now=clock.now())
    except Problem as refused:
        messages.error(request, str(refused.detail))
    else:
        messages.success(request, done)
    return redirect("admin:payments_proposal_change", proposal_id)


def _is_open(proposal: Proposal) -> bool:
    return proposal.state == Proposal.State.OPEN and proposal.expires_at > clock.now()


def _may_decide(request: HttpRequest, proposal: Proposal) -> bool:
    return bool(request.user.has_perm(PERMISSIONS[proposal.action]))


def _require_permission(request: HttpRequest, proposal_id: UUID) -> None:
    if not _may_decide(request, get_object_or_404(Proposal, pk=proposal_id)):
        raise PermissionDenied
