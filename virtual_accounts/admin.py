"""Admin pages of virtual accounts, read-only and without BVNs.

The page of unapplied money is part of `payments`, which credits or returns it.
"""

from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern
from django.utils import timezone

from kit.banks import ACCOUNT_NUMBER
from merchants.admin import ReadOnlyAdmin, by_business_name, by_id, exactly, in_each_business
from merchants.admin.columns import two_lines
from merchants.admin.filters import CurrencyFilter, FilledFilter
from merchants.request_actors import person_acting
from virtual_accounts.models import (
    AccountNumber,
    ProviderMessage,
    Session,
    Transfer,
    UnclaimedTransfer,
    VirtualAccount,
)
from virtual_accounts.services import unclaimed_transfers

MAY_RESOLVE = "virtual_accounts.change_unclaimedtransfer"


@admin.register(VirtualAccount)
class VirtualAccountAdmin(ReadOnlyAdmin):
    list_display = ("reference", "account_number", "status", "business", "type", "account_type", "created_at")
    states: ClassVar = {"status": {}}
    list_filter = ("type", "account_type", "status", CurrencyFilter)
    list_select_related = ("business",)
    searches = (
        by_id(),
        in_each_business("reference"),
        exactly("account_number", "numbers", shape=ACCOUNT_NUMBER.pattern),
        by_business_name(),
    )
    search_help_text = "ID, full reference, account number, or name of the business."
    exclude = ("fingerprint", "bvn", "bvn_hash")


@admin.register(AccountNumber)
class AccountNumberAdmin(ReadOnlyAdmin):
    list_display = ("number", "bank_name", "holder", "last_holder", "free_at")
    list_select_related = ("holder", "last_holder")
    searches = (exactly("pk", shape=ACCOUNT_NUMBER.pattern), by_id("holder"))
    search_help_text = "Account number, or ID of the account that holds it."


@admin.register(Session)
class SessionAdmin(ReadOnlyAdmin):
    list_display = ("number_and_account", "status", "expected_amount", "amount_received", "expires_at")
    amounts = ("expected_amount", "amount_received")
    states: ClassVar = {"status": {}}
    list_filter = ("status", CurrencyFilter)
    list_select_related = ("number", "account")
    searches = (by_id(), by_id("account"), by_id("payment"), exactly("number", shape=ACCOUNT_NUMBER.pattern))
    search_help_text = "Account number, or ID of the session, its account or its payment."

    @admin.display(description="account number")
    def number_and_account(self, session: Session) -> str:
        return two_lines(session.number_id, session.account)


class UnansweredFilter(FilledFilter):
    """Filter by whether the account provider has responded."""

    title = "response"
    parameter_name = "answer"
    column = "answered_at"
    empty, filled = ("none", "No response yet"), ("given", "Responded")


@admin.register(ProviderMessage)
class ProviderMessageAdmin(ReadOnlyAdmin):
    list_display = (
        "kind",
        "account",
        "created_at",
        "attempts_made",
        "last_error",
        "next_attempt_at",
        "answered_at",
    )
    list_filter = (UnansweredFilter, "kind")
    list_select_related = ("account",)
    searches = (by_id("account"), exactly("account__account_number", shape=ACCOUNT_NUMBER.pattern))
    search_help_text = "Account number, or ID of the account."


@admin.register(Transfer)
class TransferAdmin(ReadOnlyAdmin):
    list_display = ("sender_name", "amount", "applied", "number", "bank_reference", "received_at")
    amounts = ("amount",)
    states: ClassVar = {"applied": {}}
    list_filter = ("applied", "reason", CurrencyFilter)
    list_select_related = ("number",)
    searches = (
        by_id(),
        by_id("account"),
        exactly("bank_reference"),
        exactly("number", shape=ACCOUNT_NUMBER.pattern),
    )
    search_help_text = "Full bank reference, account number, or ID of the transfer or its account."


class ResolvedFilter(FilledFilter):
    """Filter transfers by whether they are resolved."""

    title = "state"
    parameter_name = "state"
    column = "resolved_at"
    empty, filled = ("open", "Open"), ("resolved", "Resolved")


class ResolutionForm(forms.Form):
    resolution = forms.CharField(max_length=255, help_text="What was agreed with the bank.")


@admin.register(UnclaimedTransfer)
class UnclaimedTransferAdmin(ReadOnlyAdmin):
    """Transfers that no account could receive. Resolving one records the agreement with the bank and books nothing."""

    change_form_template = "admin/virtual_accounts/unclaimedtransfer.html"
    list_display = (
        "sender_name", "amount", "why", "account_number", "bank_reference", "received_at", "resolved_at",
    )  # fmt: skip
    amounts = ("amount",)
    list_filter = (ResolvedFilter, "why", CurrencyFilter)
    searches = (by_id(), exactly("bank_reference"), exactly("account_number", shape=ACCOUNT_NUMBER.pattern))
    search_help_text = "ID, full bank reference, or account number."

    def get_urls(self) -> list[URLPattern]:
        return [*self.action_urls("transfer_id", {"resolve": self.resolve}), *super().get_urls()]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        if isinstance(row, UnclaimedTransfer) and row.is_open and request.user.has_perm(MAY_RESOLVE):
            return {"resolution_form": ResolutionForm()}
        return {}

    def resolve(self, request: HttpRequest, transfer_id: UUID) -> HttpResponse:
        if not request.user.has_perm(MAY_RESOLVE):
            raise PermissionDenied
        get_object_or_404(UnclaimedTransfer, pk=transfer_id)
        form = ResolutionForm(request.POST)
        if not form.is_valid():
            messages.error(request, "Nothing was resolved. Check the field below.")
            return self.page_again(request, transfer_id, resolution_form=form)
        self._resolve(request, transfer_id, form.cleaned_data["resolution"])
        return redirect("admin:virtual_accounts_unclaimedtransfer_change", transfer_id)

    def _resolve(self, request: HttpRequest, transfer_id: UUID, resolution: str) -> None:
        try:
            unclaimed_transfers.resolve(
                transfer_id, resolution=resolution, actor=person_acting(request), now=timezone.now()
            )
        except unclaimed_transfers.AlreadyResolved:
            messages.error(request, "This transfer was already resolved.")
        else:
            messages.success(request, "The transfer was resolved.")
