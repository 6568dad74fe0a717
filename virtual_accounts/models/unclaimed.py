"""Transfers notified by the bank that no business's account can receive."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from kit.db.card_number_fields import FreeTextField, FreeTextJSONField
from kit.money.money import money
from virtual_accounts.models.accounts import LONGEST_PROVIDER_ACCOUNT


class UnclaimedTransfer(models.Model):
    """An incoming transfer without an owner. Amounts are minor units.

    One to an unknown number is in suspense until it is assigned to an account, or written off. Of the others, the ledger
    has nothing.
    """

    class Why(models.TextChoices):
        UNKNOWN_ACCOUNT = "unknown_account"  # the number was never assigned to an account
        AMOUNT_TOO_LARGE = "amount_too_large"  # above what the ledger takes in one entry
        CONFLICT = "conflict"  # its bank reference belongs to a different transfer; the bank got 409

    id = models.UUIDField(primary_key=True, editable=False)
    bank_reference = models.CharField(max_length=100)
    account_number = models.CharField(max_length=10)
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    why = models.CharField(max_length=16, choices=Why.choices)
    sender_name = FreeTextField(max_length=100)
    narration = FreeTextField(max_length=255, blank=True)
    extra_members = FreeTextJSONField(default=dict, blank=True)
    # Our account at the provider that took it. Empty: the hosting bank did.
    provider_account = models.CharField(
        max_length=LONGEST_PROVIDER_ACCOUNT, blank=True, default="", db_default=""
    )
    received_at = models.DateTimeField()
    resolution = FreeTextField(max_length=255, blank=True)  # empty while open
    resolved_by = models.CharField(max_length=254, blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["bank_reference"],
                condition=~Q(why="conflict"),
                name="one_unclaimed_transfer_per_bank_reference",
            ),
            models.UniqueConstraint(
                fields=["bank_reference", "account_number", "amount", "currency"],
                name="one_unclaimed_transfer_per_content",
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="unclaimed_amount_is_positive"),
            models.CheckConstraint(
                condition=Q(resolved_at__isnull=True, resolution="", resolved_by="")
                | Q(resolved_at__isnull=False) & ~Q(resolution="") & ~Q(resolved_by=""),
                name="resolutions_have_reason_and_actor",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["-id"], condition=Q(resolved_at__isnull=True), name="unclaimed_transfers_open"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.bank_reference}: {money(self.amount, self.currency)}"

    @property
    def is_open(self) -> bool:
        return self.resolved_at is None

    @property
    def is_bookable(self) -> bool:
        """Return whether it is money that the ledger can take. A conflict contradicts a transfer; it isn't more money."""
        return self.why == self.Why.UNKNOWN_ACCOUNT
