"""Decisions about money in suspense, on the admin pages of unclaimed transfers and payout returns."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, reverse

from kit.banks import ACCOUNT_NUMBER
from kit.money.form_fields import AccountNumberField
from merchants.admin import ReadOnlyAdmin, by_id, exactly
from merchants.admin.base import Link, staff_action
from merchants.admin.columns import list_address
from merchants.admin.filters import CurrencyFilter, FilledFilter
from payments.admin.decisions.submitting import ANOTHER, submit
from payments.services.staff import made_about
from payments.services.staff.actions import suspense_actions
from payments.services.staff.made_about import MadeAbout
from payments.services.staff.staff_action import StaffAction
from virtual_accounts.models import UnclaimedTransfer


class DecisionForm(forms.Form):
    """A decision about money in suspense, with its reason."""

    title: ClassVar[str]
    explanation: ClassVar[str]
    reason = forms.CharField(max_length=255)

    def action_of(self, row: Any) -> StaffAction:
        """Return the action to perform.

        :raises Problem: the state doesn't allow it
        """
        raise NotImplementedError


class WriteOffForm(DecisionForm):
    title = "Write off"
    explanation = (
        "Take the money out of suspense without an owner, because the bank has taken it back, it never arrived, or its "
        "owner was paid in another way. This can't be undone."
    )

    def action_of(self, row: Any) -> StaffAction:
        return suspense_actions.write_off(row, **self.cleaned_data)


class AssignForm(DecisionForm):
    title = "Assign to an account"
    explanation = (
        "The money becomes an unapplied transfer of the business that holds or last held the account number. The "
        "business credits it, or returns it to the sender. This can't be undone."
    )
    account_number = AccountNumberField(label="Account number")

    def action_of(self, row: Any) -> StaffAction:
        return suspense_actions.assignment(row, **self.cleaned_data)


class MatchForm(DecisionForm):
    title = "Match to a payout"
    explanation = (
        "The bank has returned this successful payout. The money is credited to the balance of its business. This can't be "
        "undone."
    )
    payout = forms.UUIDField(label="ID of the payout")

    def action_of(self, row: Any) -> StaffAction:
        payout = suspense_actions.find_payout(self.cleaned_data["payout"])
        return suspense_actions.return_match(row, payout, reason=self.cleaned_data["reason"])


class SuspenseAdmin(ReadOnlyAdmin):
    """Rows of money in suspense, with a form for each decision."""

    change_form_template = "admin/payments/suspense.html"
    may_decide: ClassVar[str]
    decisions: ClassVar[Mapping[str, type[DecisionForm]]]  # by the name of the action

    def related(self, row: Any) -> Iterator[Link]:
        yield Link("Ledger entries", list_address("ledger_entry", row.pk))
        yield Link("Proposals", f"{list_address('payments_proposal', row.pk)}&state=all")
        yield Link("Audit trail", list_address("merchants_auditentry", row.pk))

    def get_urls(self) -> list[URLPattern]:
        actions = {name: getattr(self, name) for name in self.decisions}
        return [*self.action_urls("row_id", actions), *super().get_urls()]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        context = super().page_context(request, row)
        if row is None or not self.is_undecided(row) or not request.user.has_perm(self.may_decide):
            return context
        return context | {
            "decisions": self._shown(row.pk, self._forms(row)),
            "seen": made_about.fingerprint(self.state_of(row)),
            "second_person": ANOTHER if settings.FOUR_EYES else "",
        }

    def is_undecided(self, row: Any) -> bool:
        return bool(row.is_open)

    def state_of(self, row: Any) -> MadeAbout:
        """Return what every decision about a row depends on."""
        return suspense_actions.suspense(row)

    def decisions_of(self, row: Any) -> Mapping[str, type[DecisionForm]]:
        """Return the decisions that a row allows."""
        return self.decisions

    def _forms(self, row: Any) -> dict[str, DecisionForm]:
        return {name: form(auto_id=f"{name}_%s") for name, form in self.decisions_of(row).items()}

    def _shown(self, row_id: UUID, forms_by_name: dict[str, DecisionForm]) -> list[tuple[str, DecisionForm]]:
        page = f"admin:{self.opts.app_label}_{self.opts.model_name}"
        return [(reverse(f"{page}_{name}", args=[row_id]), form) for name, form in forms_by_name.items()]

    def decide(self, request: HttpRequest, row_id: UUID, name: str) -> HttpResponse:
        """Submit the decision of a form."""
        row = get_object_or_404(self.model, pk=row_id)
        form = self.decisions[name](request.POST, auto_id=f"{name}_%s")
        if not form.is_valid():
            messages.error(request, "Nothing was decided. Check the fields below.")
            return self.page_again(
                request, row_id, decisions=self._shown(row_id, self._forms(row) | {name: form})
            )
        seen = self.state_of(row)
        submit(request, lambda: form.action_of(row), seen=seen, done="The decision was performed and booked.")
        return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", row_id)


class ResolvedFilter(FilledFilter):
    """Filter transfers by whether they are resolved."""

    title = "state"
    parameter_name = "state"
    column = "resolved_at"
    empty, filled = ("open", "Open"), ("resolved", "Resolved")


MAY_DECIDE = "virtual_accounts.change_unclaimedtransfer"


@admin.register(UnclaimedTransfer)
class UnclaimedTransferAdmin(SuspenseAdmin):
    """Transfers that no account could receive: assigned to an account by staff, or written off."""

    may_decide = MAY_DECIDE
    decisions: ClassVar = {"assign": AssignForm, "write_off": WriteOffForm}
    groups: ClassVar = {
        "Transfer": (
            "amount", "currency", "received_at", "bank_reference", "sender_name", "narration", "extra_members",
        ),
        "Paid into": ("account_number", "provider_account", "why"),
        "Resolution": ("resolution", "resolved_by", "resolved_at"),
    }  # fmt: skip
    list_display = (
        "sender_name", "amount", "why", "account_number", "bank_reference", "received_at", "resolved_at",
    )  # fmt: skip
    amounts = ("amount",)
    list_filter = (ResolvedFilter, "why", CurrencyFilter)
    searches = (by_id(), exactly("bank_reference"), exactly("account_number", shape=ACCOUNT_NUMBER.pattern))
    search_help_text = "ID, full bank reference, or account number."

    @staff_action("assign an unclaimed transfer", may=MAY_DECIDE, needs_second_person=True)
    def assign(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        return self.decide(request, row_id, "assign")

    @staff_action("write off an unclaimed transfer", may=MAY_DECIDE, needs_second_person=True)
    def write_off(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        return self.decide(request, row_id, "write_off")
