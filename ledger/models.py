"""Accounts, entries and postings. Amounts are minor units; a credit is positive, a debit negative.

So an account of money that somebody is owed (the merchant's wallet, our fees) stands above zero, and an
account of money that somebody owes us or keeps for us (the acquirer, the bank) below. The postings of an
entry sum to zero, and so do all accounts of a business and currency.
"""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from kit.db.card_number_fields import FreeTextField
from merchants.models import Business


class Account(models.Model):
    """One kind of money of one business in one currency; its balance is the sum of its postings.

    The house's own kinds are kept for each business too, so that no row is written by all of them at
    once; what the house has is the sum over all businesses.
    """

    class Kind(models.TextChoices):
        # The merchant's
        WALLET = "wallet"  # may be paid out
        PENDING_SETTLEMENT = "pending_settlement"  # earned, less fees and refunds, and not released yet
        PAYOUTS_IN_FLIGHT = "payouts_in_flight"  # taken from the wallet for payouts under way, fee included
        # The house's
        ACQUIRER_RECEIVABLE = "acquirer_receivable"  # captured: the acquirer owes it to us
        BANK_CLEARING = "bank_clearing"  # what came in and went out by bank transfer
        FEES = "fees"  # what we have earned
        UNAPPLIED = "unapplied"  # transfers that belong to no payment
        REFUNDS_PAYABLE = "refunds_payable"  # refunded to cards: we owe it to the acquirer

    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    currency = models.CharField(max_length=3)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    balance = models.BigIntegerField(default=0)
    sequence = models.BigIntegerField(default=0)  # of its last posting
    hash = models.BinaryField(max_length=32, default=bytes)  # of its last posting

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["business", "currency", "kind"], name="one_account_per_business_currency_and_kind"
            ),
            models.CheckConstraint(
                condition=Q(sequence__gt=0) | Q(sequence=0, balance=0), name="balances_come_from_postings"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.currency}"


class Entry(models.Model):
    """One event that moved money. Append-only; its kind and cause are unique, so that it is booked once."""

    class Kind(models.TextChoices):
        """What happened; beside it, what the cause is the id of."""

        CARD = "card"  # a card payment was captured: the transaction
        REFUND = "refund"  # a refund succeeded: the operation
        VIRTUAL_ACCOUNT = "virtual_account"  # a transfer paid a payment: the transaction
        PAYOUT_ACCEPTED = "payout_accepted"  # taken from the wallet: the transaction
        PAYOUT_SENT = "payout_sent"  # the bank has sent it: the transaction
        PAYOUT_FAILED = "payout_failed"  # given back to the wallet: the transaction
        PAYOUT_REVERSED = "payout_reversed"  # the bank returned it after success: the payout return
        SETTLEMENT_RELEASED = "settlement_released"  # from pending into the wallet: the batch
        UNAPPLIED_IN = "unapplied_in"  # a transfer that belongs to no payment: the transfer
        UNAPPLIED_OUT = "unapplied_out"  # it was returned or applied: the transfer
        TOP_UP = "top_up"  # our own people filled the wallet: the form that asked for it

    kind = models.CharField(max_length=20, choices=Kind.choices)
    cause = models.UUIDField()
    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    currency = models.CharField(max_length=3)
    note = FreeTextField(max_length=255, blank=True)  # reason, entered by a person
    # Payouts: accepted only because the wallet, less what the business owed, held enough.
    is_covered = models.BooleanField(default=False, db_default=False)
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "entries"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["kind", "cause"], name="one_entry_per_kind_and_cause"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.cause}"


class Posting(models.Model):
    """What an entry did to one account. Append-only; see `chain` for the hashes."""

    entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="postings")
    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="postings", db_index=False)
    amount = models.BigIntegerField()
    sequence = models.BigIntegerField()  # 1, 2, 3 … in each account
    balance_after = models.BigIntegerField()
    previous_hash = models.BinaryField(max_length=32)
    hash = models.BinaryField(max_length=32)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["account", "sequence"], name="one_posting_per_sequence"),
            models.CheckConstraint(condition=~Q(amount=0), name="postings_move_something"),
        ]

    def __str__(self) -> str:
        return f"no. {self.sequence} of account {self.account_id}"
