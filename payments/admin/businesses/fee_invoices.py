"""Admin pages of the invoices of fees."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest

from merchants.admin import ReadOnlyAdmin, ReadOnlyInline, by_business_name, by_id, exactly
from merchants.admin.filters import CurrencyFilter
from payments.models import FeeInvoice, FeeInvoiceLine

NUMBER = r"(?i:INV-)?[0-9]{1,9}"


def _number(term: str) -> int:
    return int(term.upper().removeprefix("INV-"))


class LineInline(ReadOnlyInline):
    model = FeeInvoiceLine
    verbose_name_plural = "lines"
    amounts, currency = ("net", "tax", "stamp_duty"), "invoice.currency"
    fields = ("label", "entries", "net", "tax", "stamp_duty")
    readonly_fields = ("label",)


@admin.register(FeeInvoice)
class FeeInvoiceAdmin(ReadOnlyAdmin):
    """Invoices, which are issued each month and never change."""

    groups: ClassVar = {
        "Invoice": ("reference", "business", "currency", "month", "net", "tax", "stamp_duty", "created_at"),
        "Seller": ("seller_name", "seller_address", "seller_tax_id"),
        "Buyer": ("buyer_name", "buyer_address", "buyer_tax_id"),
    }
    empty_text = "No invoices yet. They are issued an hour after a month has ended in Lagos."
    list_display = ("reference", "business", "currency", "month", "net", "tax", "stamp_duty", "created_at")
    list_filter = (CurrencyFilter,)
    list_select_related = ("business",)
    amounts: ClassVar = ("net", "tax", "stamp_duty")
    searches = (
        by_id("business"),
        by_business_name(),
        exactly("number", shape=NUMBER, read=_number),
    )
    search_help_text = "Name or ID of the business, or number of the invoice."
    ordering = ("-id",)
    fields = (
        "reference", "business", "currency", "month", "net", "tax", "stamp_duty", "seller_name", "seller_address",
        "seller_tax_id", "buyer_name", "buyer_address", "buyer_tax_id", "created_at",
    )  # fmt: skip
    readonly_fields = ("reference",)
    inlines = (LineInline,)

    @admin.display(description="number")
    def reference(self, invoice: FeeInvoice) -> str:
        return invoice.reference

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("business")
