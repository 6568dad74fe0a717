"""Messages to the account provider: about single accounts, and questions about transfers."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import Q

from kit.db.card_number_fields import FreeTextField
from virtual_accounts.models.accounts import LONGEST_PROVIDER_ACCOUNT, VirtualAccount


class ProviderMessageQuerySet(models.QuerySet["ProviderMessage"]):
    def unanswered(self) -> ProviderMessageQuerySet:
        """Return messages without an answer from the provider. Has an index."""
        return self.filter(answered_at=None)

    def overdue(self, *, since: datetime) -> ProviderMessageQuerySet:
        """Return unanswered messages that were due at a time. A question can be due hours after it was written."""
        tried_or_due = Q(attempts_made__gt=0) | Q(next_attempt_at__lte=since)
        return self.unanswered().filter(tried_or_due, created_at__lte=since)


class ProviderMessage(models.Model):
    """A message to the account provider. It is written with the change that needs it, and sent until acknowledged.

    The messages of an account are sent in the order of their ids, one at a time. Answered questions are deleted.
    Decision 0027.
    """

    class Kind(models.TextChoices):
        CLOSE = "close"  # stop receiving money on the account's number
        REOPEN = "reopen"  # receive money on it again
        OPEN = "open"  # open the account, and tell its number
        LOOKUP = "lookup"  # has the transfer of `subject` arrived, or was the payout given back?
        REJECT = "reject"  # the same, after the provider notified that it sent the transfer back

    id = models.BigAutoField(primary_key=True)
    account = models.ForeignKey(
        VirtualAccount,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="messages",
        db_index=False,
    )
    kind = models.CharField(max_length=6, choices=Kind.choices)
    # Of a question about a transfer: our id of its session without hyphens, or the provider's id or reference of it. About a
    # payout: `payout-` and our id. Not masked: digits in an id may look like a card number.
    subject = models.CharField(max_length=100, blank=True, default="", db_default="")
    # Our account at the provider. Another one is never asked. Empty: the provider has no accounts of ours.
    provider_account = models.CharField(
        max_length=LONGEST_PROVIDER_ACCOUNT, blank=True, default="", db_default=""
    )
    created_at = models.DateTimeField()
    next_attempt_at = models.DateTimeField(null=True, blank=True)  # null once acknowledged
    leased_until = models.DateTimeField(null=True, blank=True)  # a worker holds it until then
    attempts_made = models.IntegerField(default=0)
    last_error = FreeTextField(max_length=200, blank=True)  # of the last failed attempt
    answered_at = models.DateTimeField(null=True, blank=True)

    objects = ProviderMessageQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(answered_at__isnull=True, next_attempt_at__isnull=False)
                | Q(answered_at__isnull=False, next_attempt_at__isnull=True, leased_until__isnull=True),
                name="messages_are_due_or_answered",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["close", "reopen", "open"], account__isnull=False, subject="")
                | Q(kind__in=["lookup", "reject"], account__isnull=True) & ~Q(subject=""),
                name="messages_have_an_account_or_a_subject",
            ),
            models.UniqueConstraint(
                fields=["provider_account", "kind", "subject"],
                condition=~Q(subject=""),
                name="one_question_per_transfer",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["next_attempt_at"], condition=Q(answered_at__isnull=True), name="messages_unanswered"
            ),
            models.Index(fields=["account", "id"], name="messages_by_account"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.account_id or self.subject}"
