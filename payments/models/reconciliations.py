"""Results of comparing a statement of an acquirer or bank with the ledger. For information only."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from kit.db.card_number_fields import FreeTextField


class Reconciliation(models.Model):
    """The comparison of one statement. Append-only."""

    class Source(models.TextChoices):
        """The issuer of a statement, or "both" if one file covers everything."""

        ACQUIRER = "acquirer"  # card payments and refunds
        BANK = "bank"  # transfers into virtual accounts, top-ups, and payouts
        BOTH = "both"

    id = models.UUIDField(primary_key=True, editable=False)
    source = models.CharField(max_length=8, choices=Source.choices)
    file_name = FreeTextField(max_length=255)
    file_hash = models.CharField(max_length=64)  # SHA-256 of its bytes
    first_day = models.DateField()
    last_day = models.DateField()
    currency = models.CharField(max_length=3, blank=True, default="", db_default="")  # empty: all
    matched = models.PositiveIntegerField()
    different = models.PositiveIntegerField()
    missing_here = models.PositiveIntegerField()
    missing_there = models.PositiveIntegerField()
    actor = models.CharField(max_length=254)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.file_name}, {self.first_day:%-d %b %Y} to {self.last_day:%-d %b %Y}"


class ReconciliationLine(models.Model):
    """A line of the statement, or a ledger line missing from it. Append-only. Amounts are minor units."""

    class Result(models.TextChoices):
        MATCHED = "matched"  # the same on both sides
        DIFFERENT = "different"  # the reference matches, but another field differs
        MISSING_HERE = "missing_here"  # on the statement but not in the ledger
        MISSING_THERE = "missing_there"  # in the ledger but not on the statement

    reconciliation = models.ForeignKey(Reconciliation, on_delete=models.PROTECT, related_name="lines")
    result = models.CharField(max_length=13, choices=Result.choices)
    line = models.PositiveIntegerField(null=True)  # of the file
    reference = models.CharField(max_length=100)
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    day = models.DateField()
    direction = models.CharField(max_length=3)
    kind = models.CharField(max_length=16, blank=True)  # of the ledger line
    entry_id = models.UUIDField(null=True)  # the transaction, refund, transfer or payout return
    differences = models.JSONField(default=dict)  # by field: the statement's value and ours

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(result="missing_here", line__isnull=False, entry_id__isnull=True)
                | Q(result="missing_there", line__isnull=True, entry_id__isnull=False)
                | Q(result__in=["matched", "different"], line__isnull=False, entry_id__isnull=False),
                name="lines_have_the_sides_they_compare",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.result}: {self.reference}"
