"""Messages to the account provider about single numbers."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from kit.db.card_number_fields import FreeTextField
from virtual_accounts.models.accounts import VirtualAccount


class ProviderMessageQuerySet(models.QuerySet["ProviderMessage"]):
    def unanswered(self) -> ProviderMessageQuerySet:
        """Return messages without an answer from the provider. Has an index."""
        return self.filter(answered_at=None)


class ProviderMessage(models.Model):
    """A message to the account provider. It is written with the change of the account and sent until acknowledged.

    The messages of an account are sent in the order of their ids, one at a time. Decision 0027.
    """

    class Kind(models.TextChoices):
        CLOSE = "close"  # stop receiving money on the account's number
        REOPEN = "reopen"  # receive money on it again

    id = models.BigAutoField(primary_key=True)
    account = models.ForeignKey(
        VirtualAccount, on_delete=models.PROTECT, related_name="messages", db_index=False
    )
    kind = models.CharField(max_length=6, choices=Kind.choices)
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
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["next_attempt_at"], condition=Q(answered_at__isnull=True), name="messages_unanswered"
            ),
            models.Index(fields=["account", "id"], name="messages_by_account"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.account_id}"
