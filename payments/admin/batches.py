"""Admin pages of settlement batches: view, download, approve, release and reject."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path

from kit.db import clock
from merchants import csv_exports
from merchants.admin import ReadOnlyAdmin, ReadOnlyInline, by_business_name, by_id, in_each_business
from merchants.admin.base import CurrencyFilter
from merchants.request_actors import person_acting
from payments.admin.submitting import submit
from payments.models import BatchTransition, InvalidState, Proposal, SettlementBatch, SettlementItem
from payments.services.settlement import batch_decisions, batch_statements
from payments.services.staff import staff_actions
from payments.settlement_transitions import BATCH_TRANSITIONS

MAY_DECIDE = "payments.decide_settlementbatch"
# By the batch's next state. A rejection moves no money, so it needs no second person.
SUBMITTED = {"approved": Proposal.Action.APPROVE_BATCH, "released": Proposal.Action.RELEASE_BATCH}
DECISIONS = (*SUBMITTED, "rejected")


class DecisionForm(forms.Form):
    """A decision about a batch: its next state, and the reason."""

    decision = forms.ChoiceField(choices=[(state, state) for state in DECISIONS])
    reason = forms.CharField(max_length=255)


class BatchTransitionInline(ReadOnlyInline):
    model = BatchTransition


@admin.register(SettlementBatch)
class SettlementBatchAdmin(ReadOnlyAdmin):
    change_form_template = "admin/payments/settlementbatch.html"
    list_display = (
        "day",
        "number",
        "business",
        "state",
        "payments_count",
        "gross",
        "fees",
        "refunds",
        "net",
        "carried_forward",
    )
    amounts = ("gross", "fees", "refunds", "brought_forward", "net", "carried_forward")
    list_filter = ("state", CurrencyFilter)
    list_select_related = ("business",)
    searches = (by_id(), by_id("business"), by_business_name())
    search_help_text = "ID, or name or ID of the business."
    inlines = (BatchTransitionInline,)

    def get_urls(self) -> list[URLPattern]:
        return [
            *self.action_urls("batch_id", {"decide": self.decide}),
            path(
                "<uuid:batch_id>/statement.csv",
                self.admin_site.admin_view(self.statement),
                name="payments_settlementbatch_statement",
            ),
            *super().get_urls(),
        ]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        if isinstance(row, SettlementBatch) and request.user.has_perm(MAY_DECIDE):
            return {"decisions": [state for state in BATCH_TRANSITIONS[row.state] if state != "pending"]}
        return {}

    def decide(self, request: HttpRequest, batch_id: UUID) -> HttpResponse:
        form = DecisionForm(request.POST)
        if not request.user.has_perm(MAY_DECIDE):
            raise PermissionDenied
        batch = get_object_or_404(SettlementBatch, pk=batch_id)
        if form.is_valid():
            self._decide(request, batch, **form.cleaned_data)
        else:
            messages.error(request, "Nothing was decided. Choose a decision and enter a reason.")
        return redirect("admin:payments_settlementbatch_change", batch_id)

    def _decide(self, request: HttpRequest, batch: SettlementBatch, *, decision: str, reason: str) -> None:
        done = f"The batch is {decision}."
        if decision in SUBMITTED:
            kind = SUBMITTED[decision]
            submit(request, lambda: staff_actions.batch_decision(batch, kind, reason=reason), done=done)
            return
        try:
            batch_decisions.reject(batch.pk, reason=reason, actor=person_acting(request), now=clock.now())
        except InvalidState as refused:
            messages.error(request, str(refused.detail))
        else:
            messages.success(request, done)

    def statement(self, request: HttpRequest, batch_id: UUID) -> HttpResponseBase:
        if not self.has_view_permission(request):
            raise PermissionDenied
        batch = get_object_or_404(SettlementBatch, pk=batch_id)
        name = f"settlement-{batch.currency}-{batch.day}-{batch.number}"
        return csv_exports.file(request, name=name, lines=batch_statements.csv_lines(batch))


@admin.register(SettlementItem)
class SettlementItemAdmin(ReadOnlyAdmin):
    list_display = ("transaction", "batch", "gross", "fee", "refunded", "is_live")
    amounts, currency = ("gross", "fee", "refunded"), "batch.currency"
    list_select_related = ("transaction", "batch")
    searches = (
        by_id("batch"),
        by_id("transaction"),
        in_each_business("transaction__reference", business="transaction__business"),
    )
    search_help_text = "ID of the batch, or ID or full reference of the payment."
