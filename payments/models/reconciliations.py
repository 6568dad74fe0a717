"""What came of comparing a statement of an acquirer or bank with our entries. Recorded, never acted upon."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from kit.db.card_number_fields import FreeTextField


class Reconciliation(models.Model):
    """One statement compared, by whom and when. Append-only."""

    class Source(models.TextChoices):
        """Whose statement it is; "both" where one file holds everything."""

        ACQUIRER = "acquirer"  # card payments and refunds
        BANK = "bank"  # transfers into virtual accounts, and payouts
        BOTH = "both"

    id = models.UUIDField(primary_key=True, editable=False)
    source = models.CharField(max_length=8, choices=Source.choices)
    file_name = FreeTextField(max_length=255)
    file_hash = models.CharField(max_length=64)  # SHA-256 of its bytes
    first_day = models.DateField()
    last_day = models.DateField()
    matched = models.PositiveIntegerField()
    different = models.PositiveIntegerField()
    missing_here = models.PositiveIntegerField()
    missing_there = models.PositiveIntegerField()
    actor = models.CharField(max_length=254)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.file_name}, {self.first_day} to {self.last_day}"


class ReconciliationLine(models.Model):
    """A line of the statement, or an entry of ours that it lacks. Append-only. Amounts are minor units."""

    class Result(models.TextChoices):
        MATCHED = "matched"  # the same on both sides
        DIFFERENT = "different"  # the reference is known, something else is not the same
        MISSING_HERE = "missing_here"  # on the statement, unknown to us
        MISSING_THERE = "missing_there"  # ours, not on the statement

    reconciliation = models.ForeignKey(Reconciliation, on_delete=models.PROTECT, related_name="lines")
    result = models.CharField(max_length=13, choices=Result.choices)
    line = models.PositiveIntegerField(null=True)  # of the file
    reference = models.CharField(max_length=100)
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    day = models.DateField()
    direction = models.CharField(max_length=3)
    kind = models.CharField(max_length=16, blank=True)  # of our entry
    entry_id = models.UUIDField(null=True)  # of our entry: a transaction, refund, transfer or payout return
    differences = models.JSONField(default=dict)  # by field: what the statement says, what we say

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
