"""A list of transactions, and its export as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Subquery, UUIDField
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from dashboard.memberships import Membership, members_only
from dashboard.transactions.filters import TransactionFilter, form_of, sources
from dashboard.ui.pagination import page_of
from merchants import csv_exports
from payments.models import SettlementItem, Transaction


@dataclass(frozen=True, slots=True)
class TransactionList:
    """What differs between the lists of payments and payouts."""

    name: str  # of the exported file
    filter: type[TransactionFilter]
    template: str

    @property
    def page(self) -> str:
        """Return the name of the list's URL."""
        return f"dashboard-{self.name}"


@require_safe
@members_only
def list_page(request: HttpRequest, membership: Membership, listed: TransactionList) -> HttpResponse:
    form = form_of(listed.filter, request.GET)
    lists = sources(form, business=membership.business) if form.is_valid() else []
    page = page_of(lists, request.GET)
    context = {"membership": membership, "form": form, "page": page, "export": f"{listed.page}-export"}
    return render(request, listed.template, context)


@require_safe
@members_only
def export(request: HttpRequest, membership: Membership, listed: TransactionList) -> HttpResponseBase:
    form = form_of(listed.filter, request.GET)
    if not form.is_valid():  # the list shows the filter's errors
        address = redirect(listed.page)["Location"]
        return redirect(f"{address}?{request.GET.urlencode()}")
    return csv_exports.table(request, name=listed.name, head=HEAD, rows=_rows(form, membership))


# Columns of the export, by attribute of the transaction.
COLUMNS = (
    "id",
    "reference",
    "request_type",
    "method",
    "status",
    "response_code",
    "response_summary",
    "amount",
    "currency",
    "fee",
    "amount_captured",
    "amount_refunded",
    "refund_status",
    "customer_name",
    "customer_email",
    "customer_reference",
    "card_brand",
    "card_last4",
    "account_number",
    "bank_code",
    "retrieval_reference_number",
    "system_trace_audit_number",
    "authorization_code",
    "gateway_code",
    "narration",
)
FIELDS = (*COLUMNS, "created_at", "finished_at", "settle_status")
HEAD = (*FIELDS, "settlement_id")
# The batch of a payment. A rejected batch releases its payments.
SETTLEMENT = SettlementItem.objects.filter(transaction=OuterRef("pk"), operation=None, is_live=True).values(
    "batch_id"
)


def _rows(form: TransactionFilter, membership: Membership) -> Iterator[list[Any]]:
    seen: set[Any] = set()
    lists = sources(form, business=membership.business)
    for source in lists:
        for transaction in (
            source.order_by("-id")
            .only(*FIELDS)
            .annotate(settlement_id=Subquery(SETTLEMENT, output_field=UUIDField()))
            .iterator(chunk_size=1000)
        ):
            if len(lists) > 1:  # a transaction may match several meanings of the search text
                if transaction.pk in seen:
                    continue
                seen.add(transaction.pk)
            yield _row(transaction, settlement_id=transaction.settlement_id)


def _row(transaction: Transaction, *, settlement_id: UUID | None) -> list[Any]:
    moments = [transaction.created_at, transaction.finished_at]
    return [
        *(_cell(getattr(transaction, name)) for name in COLUMNS),
        *(each.isoformat(timespec="milliseconds") if each else "" for each in moments),
        transaction.settle_status,
        str(settlement_id or ""),
    ]


def _cell(value: Any) -> str | int:
    return value if isinstance(value, int) else str(value)
