"""References of payments that are taken before the payment exists: those of the items of payout batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from django.db import IntegrityError, models
from django.db import transaction as database

from merchants.models import Business
from payments.models.transactions.transactions import Transaction


class ReservedReferenceQuerySet(models.QuerySet["ReservedReference"]):
    def taken(self, business: Business, references: Iterable[str]) -> set[str]:
        """Return those of the references that are reserved, or that a transaction has."""
        named = list(references)
        reserved = self.filter(business=business, reference__in=named).values_list("reference", flat=True)
        used = Transaction.objects.of(business).filter(reference__in=named)
        return {*reserved, *used.values_list("reference", flat=True)}

    def reserve(self, business: Business, references: list[str]) -> bool:
        """Reserve references for ever, or none of them if one is taken. Call it in the transaction that needs them."""
        rows = [ReservedReference(business=business, reference=each) for each in references]
        try:
            with database.atomic():
                ReservedReference.objects.bulk_create(rows)
        except IntegrityError:
            return False
        return not Transaction.objects.of(business).filter(reference__in=references).exists()


class ReservedReference(models.Model):
    """A reference that no request may use. Kept for ever."""

    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    reference = models.CharField(max_length=100)

    objects = ReservedReferenceQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["business", "reference"], name="one_reservation_per_reference"),
        ]

    def __str__(self) -> str:
        return self.reference
