"""Settlement pages."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse

from dashboard.memberships import Membership, members_export, members_page
from dashboard.settlements.batch_list import BATCHES, BatchFilter
from dashboard.settlements.steps import NEXT_STEPS, steps_of
from dashboard.ui.components.timeline import Moment
from dashboard.ui.lists import exports
from dashboard.ui.lists.lists import list_context
from dashboard.ui.lists.pagination import BY_NUMBER, page_of
from kit.files.tables import Table, amounts, attributes
from ledger.services import balances
from merchants.exports import FileType
from payments.models import SettlementBatch, SettlementItem, Transaction
from payments.services.settlement.batches import batch_funds
from payments.services.settlement.batches.batch_statements import table as statement_table
from payments.services.settlement.payouts import settlement_payouts

Status = Transaction.SettleStatus

BATCH_COLUMNS = [
    *attributes("id", "day", "number", "state", "currency", "payments_count"),
    *amounts(
        "gross",
        "fees",
        "taxes",
        "refunds",
        "brought_forward",
        "carried_forward",
        "net",
        "reserved",
        "disputes",
    ),
    *attributes("created_at"),
]

SOMETIMES = ("taxes", "disputes", "carried")  # columns that the list has when one of its rows has an amount


@members_page
def settlements_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    form, held = BatchFilter(request.GET, business=membership.business), balances(membership.business)
    context = list_context(BATCHES, form, form, membership=membership, query=request.GET)
    context["has"] = {name: any(getattr(row, name) for row in context["page"].rows) for name in SOMETIMES}
    context["balances"] = [each for each in held if each.available or each.pending] or held[:1]
    return render(request, "dashboard/settlements/settlements.html", context)


@members_export
def settlements_export(request: HttpRequest, membership: Membership, file_type: FileType) -> HttpResponseBase:
    form, page = BatchFilter(request.GET, business=membership.business), reverse("dashboard-settlements")
    if not form.is_valid():
        return exports.back_to_list(request, page)
    table = Table(columns=BATCH_COLUMNS, rows=exports.rows_of(form.sources()))
    return exports.export(request, table, name="settlements", file_type=file_type, page=page)


@members_page
def settlement_page(request: HttpRequest, membership: Membership, batch_id: UUID) -> HttpResponse:
    """Show a batch with its net calculation, timeline and statement."""
    batch = _own(membership, batch_id)
    page = page_of([_items(batch)], request.GET, order=BY_NUMBER, size=15)
    steps: list[Moment] = steps_of(batch)
    paid_by = batch.payouts.filter(is_live=True).first()
    context = {
        "membership": membership,
        "batch": batch,
        "steps": steps,
        "next_step": NEXT_STEPS.get(Status(batch.state)),
        "funds": batch_funds.required_of(batch),
        "paid_by": paid_by,
        "is_unpaid": batch.state == Status.RELEASED
        and paid_by is None
        and settlement_payouts.is_unpaid(batch),
        "released_at": steps[-1].at if batch.state == Status.RELEASED else None,
        "page": page,
        "items": page.rows,
        "gross_less_taken": batch.gross - batch.refunds - batch.disputes,
    }
    return render(request, "dashboard/settlements/settlement.html", context)


@members_export
def settlement_export(
    request: HttpRequest, membership: Membership, batch_id: UUID, file_type: FileType
) -> HttpResponseBase:
    batch = _own(membership, batch_id)
    name = f"settlement-{batch.day}-{batch.currency}-{batch.number}"
    page = reverse("dashboard-settlement", args=[batch.pk])
    return exports.export(request, statement_table(batch), name=name, file_type=file_type, page=page)


def _items(batch: SettlementBatch) -> Any:
    return SettlementItem.objects.filter(batch=batch).select_related(
        "transaction__session__transfer", "operation", "dispute_step__dispute"
    )


def _own(membership: Membership, batch_id: UUID) -> SettlementBatch:
    return get_object_or_404(SettlementBatch.objects.of(membership.business), pk=batch_id)
