"""Payout returns: payouts that a bank returned, and returns that match no payout."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from kit.db.card_number_fields import FreeTextField, FreeTextJSONField
from kit.money.money import money
from ledger.services import LARGEST_ENTRY
from payments.models.transactions.transactions import Transaction


class PayoutReturnQuerySet(models.QuerySet["PayoutReturn"]):
    def open(self) -> PayoutReturnQuerySet:
        """Return unmatched returns without a decision."""
        return self.filter(applied=PayoutReturn.Applied.UNMATCHED, resolved_at__isnull=True)


class PayoutReturn(models.Model):
    """A full or partial return of a payout, reported by the bank or by staff. Amounts are minor units.

    What was reported never changes. An unmatched return is in suspense until it is applied to a payout, or written off.
    `id` is the cause of its ledger entry. A payout may have several returns. `Transaction.amount_returned` is the
    sum of those applied to it as reversals.
    """

    class Applied(models.TextChoices):
        REVERSED = (
            "reversed"  # a successful payout: the amount was credited to the wallet, or to unapplied money
        )
        FAILED = "failed"  # a pending payout: it failed, and the wallet was credited with amount and fee
        UNMATCHED = "unmatched"  # in suspense; see `why`

    class Why(models.TextChoices):
        """The reason why a return was not applied to a payout."""

        NONE = "", "applied"
        UNKNOWN_PAYOUT = "unknown_payout"  # no payout of ours has this reference
        REFUND = "refund"  # the reference is of the refund of a transfer payment
        AMBIGUOUS = "ambiguous"  # several businesses have a payout with this merchant's reference
        OTHER_CURRENCY = "other_currency"  # the payout was in another currency
        TOO_MUCH = "too_much"  # more than the rest of the payout's amount
        PARTIAL = "partial"  # part of a pending payout, which can only fail as a whole; applied when it ends
        PARTIAL_RETURN = (
            "partial_return"  # part of a return of unapplied money, which is open or returned as a whole
        )
        ALREADY_FAILED = "already_failed"  # the wallet was already credited

    id = models.UUIDField(primary_key=True, editable=False)
    transaction = models.ForeignKey(
        Transaction, on_delete=models.PROTECT, null=True, blank=True, related_name="returns"
    )
    bank_reference = models.CharField(max_length=100, null=True, unique=True)  # null: reported by staff
    payout_reference = models.CharField(max_length=100, blank=True)  # as the bank sent it
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    reason = FreeTextField(max_length=255, blank=True)
    applied = models.CharField(max_length=9, choices=Applied.choices)
    why = models.CharField(max_length=14, choices=Why.choices, blank=True)
    actor = models.CharField(max_length=254)
    extra_members = FreeTextJSONField(default=dict, blank=True)  # unknown members, truncated
    at = models.DateTimeField()
    # The decision of staff about an unmatched return; empty while open, and where none was needed.
    resolution = FreeTextField(max_length=255, blank=True, default="", db_default="")
    resolved_by = models.CharField(max_length=254, blank=True, default="", db_default="")
    resolved_at = models.DateTimeField(null=True, blank=True)

    objects = PayoutReturnQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="returned_amount_is_positive"),
            models.CheckConstraint(
                condition=Q(applied__in=["reversed", "failed"], transaction__isnull=False, why="")
                | Q(applied="unmatched") & ~Q(why=""),
                name="returns_are_applied_or_not",
            ),
            models.CheckConstraint(
                condition=Q(resolved_at__isnull=True, resolution="", resolved_by="")
                | Q(resolved_at__isnull=False) & ~Q(resolution="") & ~Q(resolved_by=""),
                name="return_resolutions_have_reason_and_actor",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["id"],
                condition=Q(applied="unmatched", resolved_at__isnull=True),
                name="payout_returns_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{money(self.amount, self.currency)} ({self.applied})"

    @property
    def is_open(self) -> bool:
        """Return whether it awaits a decision."""
        return self.applied == self.Applied.UNMATCHED and self.resolved_at is None

    @property
    def is_bookable(self) -> bool:
        """Return whether the ledger can take the amount."""
        return self.amount <= LARGEST_ENTRY
