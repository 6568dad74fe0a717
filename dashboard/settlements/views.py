"""Settlement pages."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.memberships import Membership, members_only
from dashboard.settlements.steps import steps_of
from dashboard.ui.list_filters import ListFilter, choices
from dashboard.ui.pagination import BY_ID, BY_NUMBER, page_of
from dashboard.ui.timeline import Moment
from ledger.services import balances
from merchants import csv_exports
from payments.models import SettlementBatch, SettlementItem, Transaction
from payments.services.settlement.batch_statements import csv_lines, show


class BatchFilter(ListFilter):
    state = forms.ChoiceField(required=False, choices=choices(Transaction.SettleStatus.choices))


@require_safe
@members_only
def settlements_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = BatchFilter(request.GET)
    found = (
        SettlementBatch.objects.of(membership.business) if form.is_valid() else SettlementBatch.objects.none()
    )
    if form.is_valid() and form.cleaned_data["state"]:
        found = found.filter(state=form.cleaned_data["state"])
    context = {
        "membership": membership,
        "form": form,
        "page": page_of([found], request.GET, order=BY_ID),
        "balances": balances(membership.business),
    }
    return render(request, "dashboard/settlements/settlements.html", context)


@require_safe
@members_only
def settlement_page(request: HttpRequest, membership: Membership, batch_id: UUID) -> HttpResponse:
    """Show a batch with its net calculation, timeline and statement."""
    batch = _own(membership, batch_id)
    page = page_of([_items(batch)], request.GET, order=BY_NUMBER, size=50)
    steps: list[Moment] = steps_of(batch)
    context = {
        "membership": membership,
        "batch": batch,
        "steps": steps,
        "page": page,
        "lines": [show(item) for item in page.rows],
    }
    return render(request, "dashboard/settlements/settlement.html", context)


@require_safe
@members_only
def settlement_export(request: HttpRequest, membership: Membership, batch_id: UUID) -> HttpResponseBase:
    batch = _own(membership, batch_id)
    name = f"settlement-{batch.day}-{batch.currency}-{batch.number}"
    return csv_exports.file(request, name=name, lines=csv_lines(batch))


def _items(batch: SettlementBatch) -> Any:
    return SettlementItem.objects.filter(batch=batch).select_related("transaction", "operation")


def _own(membership: Membership, batch_id: UUID) -> SettlementBatch:
    batch: SettlementBatch | None = (
        SettlementBatch.objects.of(membership.business).filter(pk=batch_id).first()
    )
    if batch is None:
        raise Http404
    return batch
