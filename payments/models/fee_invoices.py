"""Invoices of our fees: one for each business, currency and month with fees. Amounts are minor units. Append-only.

Each copies who sold and who bought, because an invoice stays as it was issued.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from kit.db.card_number_fields import FreeTextField
from ledger.models import Entry
from merchants.models import Business

LABELS = {
    Entry.Kind.CARD: "Card payments",
    Entry.Kind.VIRTUAL_ACCOUNT: "Payments by bank transfer",
    Entry.Kind.PAYOUT_SENT: "Payouts",
    Entry.Kind.DISPUTE_FEE: "Disputes",
}


EVERYTHING = 2**63 - 1  # whenever it is booked: of invoices from before the last posting was recorded


class FeeInvoiceQuerySet(models.QuerySet["FeeInvoice"]):
    def of(self, business: Business) -> FeeInvoiceQuerySet:
        return self.filter(business=business)


class FeeInvoice(models.Model):
    """The fees of a business in a currency and month, with their taxes. Below zero it is a credit note."""

    id = models.UUIDField(primary_key=True, editable=False)  # version 7: sorts by creation
    number = models.PositiveIntegerField(unique=True)  # runs through all businesses, without gaps
    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    currency = models.CharField(max_length=3)
    month = models.DateField(help_text="Its first day. Months are those of Africa/Lagos.")
    begins_at = models.DateTimeField()
    ends_at = models.DateTimeField()  # exclusive
    # Sequences of the last postings to the business's fees and taxes that it has. What is dated in an invoiced month and
    # booked after them is on the next invoice.
    fees_through = models.BigIntegerField(default=0, db_default=EVERYTHING)
    taxes_through = models.BigIntegerField(default=0, db_default=EVERYTHING)
    net = models.BigIntegerField()  # the fees
    tax = models.BigIntegerField()  # on the fees
    stamp_duty = models.BigIntegerField()  # on payouts
    seller_name = models.CharField(max_length=255)
    seller_address = models.CharField(max_length=500, blank=True)
    seller_tax_id = models.CharField(max_length=40, blank=True)
    buyer_name = FreeTextField(max_length=200)
    buyer_address = FreeTextField(max_length=500, blank=True)
    buyer_tax_id = FreeTextField(max_length=40, blank=True)
    created_at = models.DateTimeField()

    objects = FeeInvoiceQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["business", "currency", "month"], name="one_fee_invoice_per_currency_and_month"
            ),
            models.CheckConstraint(condition=Q(number__gt=0), name="fee_invoices_are_numbered_from_1"),
            models.CheckConstraint(
                condition=Q(begins_at__lt=F("ends_at"), created_at__gte=F("ends_at")),
                name="fee_invoices_are_of_complete_months",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["business", "-id"], name="fee_invoices_of_a_business"),
            models.Index(fields=["month"], name="fee_invoices_of_a_month"),
        ]

    def __str__(self) -> str:
        return self.reference

    @property
    def reference(self) -> str:
        return f"INV-{self.number:06d}"

    @property
    def taxes(self) -> int:
        return self.tax + self.stamp_duty

    @property
    def gross(self) -> int:
        return self.net + self.taxes

    @property
    def title(self) -> str:
        return "Credit note" if self.gross < 0 else "Fee invoice"


class FeeInvoiceLine(models.Model):
    """What one kind of transactions adds to an invoice, or, as a credit, takes off it."""

    invoice = models.ForeignKey(FeeInvoice, on_delete=models.PROTECT, related_name="lines", db_index=False)
    kind = models.CharField(max_length=20)  # of the ledger entries
    is_credit = models.BooleanField(default=False)
    entries = models.PositiveIntegerField()  # their number
    net = models.BigIntegerField()
    tax = models.BigIntegerField()
    stamp_duty = models.BigIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["invoice", "kind", "is_credit"], name="one_line_per_kind_of_a_fee_invoice"
            ),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        name = LABELS.get(Entry.Kind(self.kind), "Corrections")
        return f"{name}, given back" if self.is_credit else name

    @property
    def currency(self) -> str:
        return str(self.invoice.currency)

    @property
    def gross(self) -> int:
        return self.net + self.tax + self.stamp_duty
