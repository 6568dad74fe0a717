"""Journals: corrections of accounts that staff book. Amounts are minor units; a credit is positive, a debit negative."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from cash.models import Break
from kit.db.card_number_fields import FreeTextField
from ledger.models import LONGEST_NAME, Account, Entry
from merchants.models import Business
from payments.models.transactions.transactions import Transaction

OF_BUSINESSES = (
    Account.Kind.WALLET,
    Account.Kind.PENDING_SETTLEMENT,
    Account.Kind.UNAPPLIED,
    Account.Kind.ACQUIRER_RECEIVABLE,
    Account.Kind.TAXES_PAYABLE,  # what is remitted to the authority
)
OF_HOUSE = (
    Account.Kind.BANK,
    Account.Kind.BANK_CLEARING,  # of a top-up that names no bank account, between two businesses, or of an old write-off
    Account.Kind.ACQUIRER,
    Account.Kind.PROVIDER,
    Account.Kind.SUSPENSE,
    Account.Kind.COSTS,
    Account.Kind.WRITE_OFFS,
)


class Journal(models.Model):
    """A correction of accounts of the house and of at most one business, in one currency. Append-only.

    Its legs sum to zero. What it reverses is another journal, whose legs it has with the opposite signs. Money that moves
    between two businesses is a pair of journals, which are booked and reversed together. A leg of bank clearing balances each.
    """

    class Code(models.TextChoices):
        """Why it was booked. The business reads the label in its wallet's statement."""

        CORRECTION = "correction", "Correction"
        WRITE_OFF = "write_off", "Write-off"
        GOODWILL = "goodwill", "Goodwill"
        RECOVERY = "recovery", "Recovery"
        COST = "cost", "Cost"
        FUNDING = "funding", "Top-up"

    id = models.UUIDField(primary_key=True, editable=False)
    code = models.CharField(max_length=10, choices=Code.choices)
    text = FreeTextField(max_length=255)
    business = models.ForeignKey(
        Business, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    currency = models.CharField(max_length=3)
    # What it is about
    entry = models.ForeignKey(
        Entry,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
    )
    transaction = models.ForeignKey(
        Transaction,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
    )
    explained = models.OneToOneField(
        Break,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="journal",
        verbose_name="break",
    )
    reverses = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="reversal"
    )
    # The journal of the first business, of the second one of a pair.
    paired_with = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    booked_by = models.CharField(max_length=254)
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(code__in=["correction", "write_off", "goodwill", "recovery", "cost", "funding"]),
                name="known_journal_code",
            ),
            models.CheckConstraint(
                condition=Q(code="funding")
                | Q(entry__isnull=False)
                | Q(transaction__isnull=False)
                | Q(explained__isnull=False)
                | Q(reverses__isnull=False)
                | Q(paired_with__isnull=False),
                name="journals_are_about_something",
            ),
            models.CheckConstraint(
                condition=Q(reverses__isnull=True) | ~Q(reverses=F("id")),
                name="journals_reverse_others",
            ),
            models.UniqueConstraint(
                fields=["paired_with"],
                condition=Q(paired_with__isnull=False),
                name="one_pair_per_journal",
            ),
            models.CheckConstraint(
                condition=Q(paired_with__isnull=True)
                | ~Q(paired_with=F("id")) & ~Q(code="funding") & Q(business__isnull=False),
                name="pairs_are_of_two_businesses",
            ),
            models.CheckConstraint(
                condition=~Q(code="funding") | Q(business__isnull=False),
                name="fundings_are_of_a_business",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_code_display()}: {self.text}"

    @property
    def other(self) -> Journal | None:
        """The other journal of a pair."""
        return self.paired_with or Journal.objects.filter(paired_with=self).select_related("business").first()


def reason_in_words(code: str, text: str) -> str:
    """Return why a journal is booked, as its business reads it in the wallet's statement.

    >>> reason_in_words("goodwill", "Late settlement"), reason_in_words("funding", "Float")
    ('Goodwill: Late settlement', 'Float')
    """
    return text if code == Journal.Code.FUNDING else f"{Journal.Code(code).label}: {text}"


class JournalLeg(models.Model):
    """The change of one account by a journal. Append-only.

    That of a bank account is booked to bank clearing, and expected on a statement of the account.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    journal = models.ForeignKey(Journal, on_delete=models.PROTECT, related_name="legs", db_index=False)
    kind = models.CharField(
        max_length=20, choices=[(kind.value, kind.label) for kind in (*OF_BUSINESSES, *OF_HOUSE)]
    )
    name = models.CharField(max_length=LONGEST_NAME, blank=True, default="")
    amount = models.BigIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["journal", "kind", "name"], name="one_leg_per_journal_and_account"
            ),
            models.CheckConstraint(condition=~Q(amount=0), name="legs_move_something"),
            models.CheckConstraint(
                condition=Q(kind__in=[*OF_BUSINESSES, *OF_HOUSE]), name="legs_are_of_accounts_of_journals"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["name", "id"], condition=Q(kind="bank"), name="legs_of_bank_accounts"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.name else str(self.kind)
