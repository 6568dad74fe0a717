"""The lists of payments and payouts, and their exports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, Subquery, UUIDField
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from dashboard.access import Membership, members_only
from dashboard.transactions.filters import PaymentFilter, PayoutFilter, TransactionFilter, form_of, sources
from dashboard.ui.pagination import page_of
from kit import banks
from merchants import csv_exports
from payments.models import SettlementItem, Transaction


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the two lists."""

    name: str  # of the area, and of the exported file
    filter: type[TransactionFilter]
    page: str  # the name of its URL
    template: str


PAYMENTS = Kind("payments", PaymentFilter, "dashboard-payments", "dashboard/transactions/payments.html")
PAYOUTS = Kind("payouts", PayoutFilter, "dashboard-payouts", "dashboard/transactions/payouts.html")


@require_safe
@members_only
def payments_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    return _list_page(request, membership, PAYMENTS)


@require_safe
@members_only
def payouts_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    return _list_page(request, membership, PAYOUTS)


@require_safe
@members_only
def payments_export(request: HttpRequest, membership: Membership) -> HttpResponseBase:
    return _export(request, membership, PAYMENTS)


@require_safe
@members_only
def payouts_export(request: HttpRequest, membership: Membership) -> HttpResponseBase:
    return _export(request, membership, PAYOUTS)


def _list_page(request: HttpRequest, membership: Membership, kind: Kind) -> HttpResponse:
    form = form_of(kind.filter, request.GET)
    lists = sources(form, business=membership.business) if form.is_valid() else []
    page = page_of(lists, request.GET)
    for transaction in page.rows:
        _name_bank(transaction)
    context = {"membership": membership, "form": form, "page": page, "is_filtered": is_filtered(request)}
    return render(request, kind.template, context)


def is_filtered(request: HttpRequest) -> bool:
    return any(value for value in request.GET.values())


def _export(request: HttpRequest, membership: Membership, kind: Kind) -> HttpResponseBase:
    form = form_of(kind.filter, request.GET)
    if not form.is_valid():  # the list shows the filter's errors
        address = redirect(kind.page)["Location"]
        return redirect(f"{address}?{request.GET.urlencode()}")
    return csv_exports.table(request, name=kind.name, head=HEAD, rows=_rows(form, membership))


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
            yield _row(transaction)


def _row(transaction: Transaction) -> list[Any]:
    moments = [transaction.created_at, transaction.finished_at]
    return [
        *(_cell(getattr(transaction, name)) for name in COLUMNS),
        *(each.isoformat(timespec="milliseconds") if each else "" for each in moments),
        transaction.settle_status,
        str(transaction.settlement_id or ""),  # type: ignore[attr-defined]
    ]


def _cell(value: Any) -> str | int:
    return value if isinstance(value, int) else str(value)


def _name_bank(transaction: Transaction) -> None:
    """Set the bank's name on a transaction, for the list."""
    bank = banks.find(transaction.bank_code) if transaction.bank_code else None
    transaction.bank_name = bank.name if bank else ""  # type: ignore[attr-defined]
