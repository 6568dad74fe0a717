"""Debts: a business owes while its wallet and its pending settlement together are below zero."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from merchants.models import Business


class DebtQuerySet(models.QuerySet["Debt"]):
    def open(self) -> DebtQuerySet:
        """Return the debts of businesses that owe now."""
        return self.filter(ended_at=None)


class Debt(models.Model):
    """A time in which a business owed in a currency. How much it owes is in the ledger, and changes with each payment."""

    id = models.UUIDField(primary_key=True, editable=False)  # version 7: sorts by creation
    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    currency = models.CharField(max_length=3)
    since = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    # The last invoice that staff sent for it.
    invoice_sent_on = models.DateField(null=True)
    invoice_sent_by = models.CharField(max_length=254, blank=True)

    objects = DebtQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "owing businesses"
        indexes: ClassVar = [models.Index(fields=["business", "-id"], name="debts_of_business")]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["business", "currency"], condition=Q(ended_at=None), name="one_open_debt_per_currency"
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True) | Q(ended_at__gte=F("since")),
                name="debts_end_after_they_begin",
            ),
            models.CheckConstraint(
                condition=Q(invoice_sent_on__isnull=True, invoice_sent_by="")
                | Q(invoice_sent_on__isnull=False) & ~Q(invoice_sent_by=""),
                name="invoices_have_a_sender",
            ),
        ]

    def __str__(self) -> str:
        return f"debt of {self.business} in {self.currency}"
