"""Pages of the monthly invoices of our fees."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse

from dashboard.memberships import READ, Membership, for_members
from dashboard.settlements.invoice_list import INVOICES, InvoiceFilter
from dashboard.ui.lists import exports
from dashboard.ui.lists.lists import list_context
from kit.files.tables import Column, Table, amounts, attributes
from merchants.exports import FileType
from merchants.people.access import AccessRule, Limit
from merchants.people.roles import Permission
from payments.models import FeeInvoice, FeeInvoiceLine

invoices_view = for_members(AccessRule(readers=Permission.VIEW_INVOICES), READ)
invoices_file = for_members(AccessRule(readers=Permission.VIEW_INVOICES, limits=(Limit.EXPORT,)), READ)

INVOICE_COLUMNS = [
    Column("number", lambda row: row.reference),
    *attributes("month", "currency"),
    *amounts("net", "tax", "stamp_duty", "gross"),
    *attributes("seller_name", "seller_tax_id", "buyer_name", "buyer_tax_id", "created_at"),
]
LINE_COLUMNS: list[Column[FeeInvoiceLine]] = [
    Column("number", lambda row: row.invoice.reference),
    Column("month", lambda row: row.invoice.month),
    Column("item", lambda row: row.label),
    *attributes("entries", "currency"),
    *amounts("net", "tax", "stamp_duty", "gross"),
]


@invoices_view
def invoices_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = InvoiceFilter(request.GET, business=membership.business)
    context = list_context(INVOICES, form, form, membership=membership, query=request.GET)
    return render(request, "dashboard/settlements/invoices.html", context)


@invoices_file
def invoices_export(request: HttpRequest, membership: Membership, file_type: FileType) -> HttpResponseBase:
    form, page = InvoiceFilter(request.GET, business=membership.business), reverse("dashboard-invoices")
    if not form.is_valid():
        return exports.back_to_list(request, page)
    table = Table(columns=INVOICE_COLUMNS, rows=exports.rows_of(form.sources()))
    return exports.export(request, table, name="invoices", file_type=file_type, page=page)


@invoices_view
def invoice_page(request: HttpRequest, membership: Membership, invoice_id: UUID) -> HttpResponse:
    """Show one invoice, which prints on one page."""
    invoice = _own(membership, invoice_id)
    context = {"membership": membership, "invoice": invoice, "lines": invoice.lines.order_by("pk")}
    return render(request, "dashboard/settlements/invoice.html", context)


@invoices_file
def invoice_export(
    request: HttpRequest, membership: Membership, invoice_id: UUID, file_type: FileType
) -> HttpResponseBase:
    invoice = _own(membership, invoice_id)
    lines = invoice.lines.select_related("invoice").order_by("pk")
    table = Table(columns=LINE_COLUMNS, rows=lines)
    page = reverse("dashboard-invoice", args=[invoice.pk])
    return exports.export(request, table, name=invoice.reference.lower(), file_type=file_type, page=page)


def _own(membership: Membership, invoice_id: UUID) -> FeeInvoice:
    return get_object_or_404(FeeInvoice.objects.of(membership.business), pk=invoice_id)
