"""Admin pages of staff proposals, which a second person confirms or declines."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, cast
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, reverse

from kit.api.refusal_messages import refusals_shown
from kit.db import clock
from kit.money.money import money
from merchants.admin import by_business_name, by_id, exactly
from merchants.admin.base import Link
from merchants.admin.columns import linked, list_address
from merchants.admin.filters import UsualStateFilter
from merchants.models import User
from merchants.people.access import open_to, right
from merchants.people.audit_values import shown
from merchants.people.request_actors import person_acting
from payments.admin.decisions.bulk_decisions import BulkDecisionAdmin, Item
from payments.models import InvalidState, Proposal
from payments.services.journals import booking
from payments.services.staff import four_eyes, made_about
from payments.services.staff.actions import journal_actions
from payments.services.staff.meanings import meaning_of
from payments.services.staff.staff_actions import PERMISSIONS, may_confirm

Action = Proposal.Action
# The admin page of a proposal's target.
PAGES = {
    Action.APPROVE_BATCH: "payments_settlementbatch",
    Action.APPROVE_UNFUNDED: "payments_settlementbatch",
    Action.RELEASE_BATCH: "payments_settlementbatch",
    Action.CREDIT_UNAPPLIED: "virtual_accounts_unappliedmoney",
    Action.RETURN_UNAPPLIED: "virtual_accounts_unappliedmoney",
    Action.REVERSE_PAYOUT: "payments_transaction",
    Action.RESOLVE_TRANSACTION: "payments_transaction",
    Action.RESOLVE_OPERATION: "payments_cardoperation",
    Action.GIVE_ACCOUNT: "payments_cardoperation",
    Action.GIVE_RETURN_ACCOUNT: "payments_transaction",
    Action.ASSIGN_UNCLAIMED: "virtual_accounts_unclaimedtransfer",
    Action.WRITE_OFF_UNCLAIMED: "virtual_accounts_unclaimedtransfer",
    Action.MATCH_RETURN: "payments_payoutreturn",
    Action.WRITE_OFF_RETURN: "payments_payoutreturn",
    Action.ASSIGN_DISPUTE: "disputes_disputereport",
    Action.CREDIT_DISPUTE: "disputes_disputereport",
    Action.DISMISS_DISPUTE: "disputes_disputereport",
    Action.RECORD_DISPUTE_DEBIT: "disputes_dispute",
    Action.REVERSE_JOURNAL: "payments_journal",
    Action.CHANGE_USER: "merchants_user",
    Action.CHANGE_GROUP: "auth_group",
    Action.CHOOSE_CONNECTORS: "payments_railchoice",
    Action.COLLECT_RESERVE: "payments_debt",
}


class DeclineForm(forms.Form):
    """Why a proposal is declined or withdrawn."""

    reason = forms.CharField(max_length=255)


class StateFilter(UsualStateFilter):
    """Open proposals unless another state is chosen."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        decided = [state for state in Proposal.State.choices if state[0] != Proposal.State.OPEN]
        return [*decided, ("all", "All")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if chosen == "all":
            return queryset
        if chosen in Proposal.State.values:
            return queryset.filter(state=chosen)
        return queryset.filter(state=Proposal.State.OPEN, expires_at__gt=clock.now())


NOTHING = "—"
PROPOSED = right("the permission for the proposed action")


@admin.register(Proposal)
class ProposalAdmin(BulkDecisionAdmin):
    groups: ClassVar = {
        "Proposal": ("action", "subject", "business", "amount", "meaning", "details", "made_about_in_words"),
        "Why": ("reason", "evidence", "proposed_by", "created_at"),
        "Decision": ("state", "expires_at", "decided_by", "decided_at", "decision_reason"),
    }
    change_form_template = "admin/payments/proposal.html"
    empty_text = "No proposals are open. Choose another state to see the others."
    list_display = (
        "action",
        "amount",
        "state",
        "business",
        "reason",
        "proposed_by",
        "created_at",
        "expires_at",
    )
    amounts = ("amount",)
    states: ClassVar = {"state": {}}
    list_filter = (StateFilter, "action")
    list_select_related = ("business", "proposed_by")
    searches = (by_id(), by_id("target"), exactly("proposed_by__email__iexact"), by_business_name())
    search_help_text = "ID of the proposal or of what it is about, email address, or name of the business."
    fields = (
        "action", "subject", "business", "amount", "details", "meaning", "made_about_in_words", "reason", "evidence",
        "state", "proposed_by", "created_at", "expires_at", "decided_by", "decided_at", "decision_reason",
    )  # fmt: skip
    readonly_fields = ("subject", "details", "meaning", "made_about_in_words")
    may_act_on_list = PERMISSIONS[Action.APPROVE_BATCH]
    bulk_name = "confirm"
    bulk_title = "Confirm approvals of settlement batches"
    bulk_button = "Confirm approvals"
    bulk_noun = ("approval", "approvals")
    bulk_needs_reason = False
    bulk_explanation = "Check the batches first. Confirming approves them immediately."

    def bulk_rows(self, ids: Sequence[UUID]) -> QuerySet[Proposal]:
        return Proposal.objects.filter(pk__in=ids).select_related("business", "proposed_by").order_by("pk")

    def bulk_item(self, request: HttpRequest, row: Proposal) -> Item:
        name = f"{row.get_action_display()}, proposed by {row.proposed_by.email}"
        return Item(
            row, name, str(row.business or NOTHING), row.currency, row.amount, _obstacle(request, row)
        )

    def bulk_decide(self, request: HttpRequest, row: Proposal, *, reason: str) -> None:
        four_eyes.confirm(
            row.pk, user=cast("User", request.user), actor=person_acting(request), now=clock.now()
        )

    def bulk_done(self, count: str, sums: str) -> str:
        return f"Confirmed {count}: {sums}."

    @admin.display(description="about")
    def subject(self, proposal: Proposal) -> str:
        page = PAGES.get(Action(proposal.action))
        target = proposal.parameters.get("id", proposal.target)
        name = str(proposal.parameters.get("name", target))
        if page is None or target is None:
            return name if "name" in proposal.parameters else NOTHING
        return linked(name, reverse(f"admin:{page}_change", args=[target]))

    def title_of(self, row: Proposal) -> str:
        about = money(row.amount, row.currency) if row.currency else row.parameters["name"]
        return f"{row.get_action_display()}: {about}"

    def related(self, row: Proposal) -> Iterator[Link]:
        yield Link("Audit trail", list_address("merchants_auditentry", row.pk))

    @admin.display(description="details")
    def details(self, proposal: Proposal) -> str:
        named = [
            f"{name.replace('_', ' ')}: {shown(value)}"
            for name, value in sorted(proposal.parameters.items())
            if name not in {"legs", "pair"}  # the meaning has their amounts as money
        ]
        return ", ".join(named) or NOTHING

    @admin.display(description="meaning")
    def meaning(self, proposal: Proposal) -> str:
        return meaning_of(proposal) or NOTHING

    @admin.display(description="made about")
    def made_about_in_words(self, proposal: Proposal) -> str:
        if proposal.made_about is None:
            return "Not recorded. Decline it, and propose it again."
        named = made_about.in_words(proposal.made_about, proposal.currency)
        return ", ".join(f"{name}: {value}" for name, value in named)

    def get_urls(self) -> list[URLPattern]:
        actions = {"confirm": self.confirm, "decline": self.decline}
        return [*self.action_urls("proposal_id", actions), *super().get_urls()]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        if isinstance(row, Proposal) and _may_decide(request, row) and _is_open(row):
            is_own = row.proposed_by_id == request.user.pk
            return {
                "decline_form": DeclineForm(),
                "may_confirm": not is_own,
                "meaning": meaning_of(row),
                "evidence": list(self._evidence(row)),
                "legs": list(_legs(row)),
            }
        return {}

    def _evidence(self, proposal: Proposal) -> Iterator[tuple[str, str]]:
        """Yield what a second person checks before confirming."""
        if proposal.business is not None:
            yield "Business", proposal.business.name
        for name, value in (
            ("About", self.subject(proposal)),
            ("Details", self.details(proposal)),
            ("Made about", self.made_about_in_words(proposal)),
        ):
            if value not in {"", NOTHING}:
                yield name, value
        yield "Reason", proposal.reason
        yield "Evidence", proposal.evidence or "None was given."

    @open_to(None, writers=PROPOSED, action="confirm a proposal", needs_second_person=True)
    def confirm(self, request: HttpRequest, proposal_id: UUID) -> HttpResponse:
        _require_permission(request, proposal_id)
        return _decide(
            request, proposal_id, four_eyes.confirm, done="The proposal was confirmed and performed."
        )

    @open_to(None, writers=PROPOSED, action="decline a proposal")
    def decline(self, request: HttpRequest, proposal_id: UUID) -> HttpResponse:
        _require_permission(request, proposal_id)
        form = DeclineForm(request.POST)
        if not form.is_valid():
            messages.error(request, "Nothing was decided. Enter a reason of at most 255 characters.")
            return self.page_again(request, proposal_id, decline_form=form)
        decline = partial(four_eyes.decline, reason=form.cleaned_data["reason"])
        return _decide(request, proposal_id, decline, done="The proposal was closed without being performed.")


def _decide(
    request: HttpRequest, proposal_id: UUID, decide: Callable[..., object], *, done: str
) -> HttpResponse:
    """Confirm or decline a proposal, and show the result as a message on its page."""
    with refusals_shown(request, done=done):
        decide(proposal_id, user=cast("User", request.user), actor=person_acting(request), now=clock.now())
    return redirect("admin:payments_proposal_change", proposal_id)


def _legs(proposal: Proposal) -> Iterator[dict[str, str]]:
    """Yield the legs of a proposed journal with the present balance of each account, and the one afterwards."""
    if proposal.action not in {Action.JOURNAL, Action.REVERSE_JOURNAL}:
        return
    try:
        balances = booking.balances_of(journal_actions.draft_of(proposal))
    except InvalidState:  # what it is about has ended, so it can't be confirmed
        return
    for leg, balance in balances.items():
        amount, before, after = (
            money(each, proposal.currency) for each in (abs(leg.amount), balance, balance + leg.amount)
        )
        side = "credit" if leg.amount > 0 else "debit"
        yield {"account": leg.account, side: amount, "before": before, "after": after}


def _obstacle(request: HttpRequest, proposal: Proposal) -> str:
    """Return why a proposal can't be confirmed together with others. Only approvals of batches can."""
    if proposal.action != Action.APPROVE_BATCH:
        return "Confirm it on its own page."
    if not _is_open(proposal):
        return "It isn't open any more."
    return "Another person must confirm it." if proposal.proposed_by_id == request.user.pk else ""


def _is_open(proposal: Proposal) -> bool:
    return proposal.state == Proposal.State.OPEN and proposal.expires_at > clock.now()


def _may_decide(request: HttpRequest, proposal: Proposal) -> bool:
    return may_confirm(request.user, proposal.action)


def _require_permission(request: HttpRequest, proposal_id: UUID) -> None:
    if not _may_decide(request, get_object_or_404(Proposal, pk=proposal_id)):
        raise PermissionDenied
