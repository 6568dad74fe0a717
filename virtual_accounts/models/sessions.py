"""Sessions: a payment expected on a number until an expiry time."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import Q

from kit.db.card_number_fields import FreeTextField
from kit.db.prepared_statements import update_if_unchanged
from kit.money.money import money
from virtual_accounts.models.accounts import LONGEST_PROVIDER_ACCOUNT, VirtualAccount
from virtual_accounts.models.numbers import AccountNumber


class SessionEnded(Exception):
    """The session has ended. Sessions don't reopen."""


class SessionQuerySet(models.QuerySet["Session"]):
    def overdue(self, *, at: datetime) -> SessionQuerySet:
        """Return expired sessions that haven't been ended yet. Those of a provider wait for its answer."""
        return self.filter(status=Session.Status.PENDING, expires_at__lte=at, provider_account="")

    def end_all(self, sessions: list[Session], status: Session.Status, *, now: datetime) -> None:
        """End sessions that received no money as expired or failed. The caller has locked them.

        :raises SessionEnded: one of them has ended already
        """
        for session in sessions:
            session.status, session.ended_at = status, now
        still_open = self.filter(pk__in=[session.pk for session in sessions], status=Session.Status.PENDING)
        if still_open.update(status=status, ended_at=now) != len(sessions):
            raise SessionEnded


class Session(models.Model):
    """A payment's use of an account number: the `virtual_account_details`. Amounts are minor units."""

    class Status(models.TextChoices):
        PENDING = "pending"  # accepts a transfer until it expires
        SUCCESS = "success"  # the expected amount arrived; final
        MISMATCH = "mismatch"  # another amount arrived; the provider may have sent it back; final
        EXPIRED = "expired"  # nothing arrived in time; final
        FAILED = "failed"  # the account was deactivated, or the payment cancelled; final

    id = models.UUIDField(primary_key=True, editable=False)
    account = models.ForeignKey(VirtualAccount, on_delete=models.PROTECT, related_name="sessions")
    number = models.ForeignKey(AccountNumber, on_delete=models.PROTECT, related_name="sessions")
    bank_name = models.CharField(max_length=100)
    account_name = FreeTextField(max_length=320)
    expected_amount = models.BigIntegerField()
    amount_received = models.BigIntegerField(null=True)
    currency = models.CharField(max_length=3)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.PENDING)
    opened_at = models.DateTimeField()
    expires_at = models.DateTimeField()  # accepts funds while now < expires_at
    ended_at = models.DateTimeField(null=True)
    # Our account at the provider that opened the session. Empty: its number is the account's, or of the pool.
    provider_account = models.CharField(
        max_length=LONGEST_PROVIDER_ACCOUNT, blank=True, default="", db_default=""
    )

    objects = SessionQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            # A static account has one number, and therefore at most one open session.
            models.UniqueConstraint(
                fields=["number"], condition=Q(status="pending"), name="one_open_session_per_number"
            ),
            models.CheckConstraint(condition=Q(expected_amount__gt=0), name="expected_amount_is_positive"),
            models.CheckConstraint(
                condition=Q(status="pending", ended_at__isnull=True)
                | ~Q(status="pending") & Q(ended_at__isnull=False),
                name="only_ended_sessions_have_ended_at",
            ),
            models.CheckConstraint(
                condition=Q(status="success", amount_received=models.F("expected_amount"))
                | Q(status="mismatch", amount_received__isnull=False)
                & ~Q(amount_received=models.F("expected_amount"))
                | Q(status="mismatch", amount_received__isnull=True) & ~Q(provider_account="")
                | Q(status__in=["pending", "expired", "failed"], amount_received__isnull=True),
                name="session_status_follows_amounts",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["expires_at"], condition=Q(status="pending"), name="sessions_overdue"),
        ]

    def __str__(self) -> str:
        return f"{self.number_id}: {money(self.expected_amount, self.currency)}"

    @property
    def is_sent_back(self) -> bool:
        """Return whether its provider sent another amount back itself. Then that amount isn't known."""
        return self.status == self.Status.MISMATCH and self.amount_received is None

    def receive(self, amount: int, *, now: datetime) -> None:
        """End with the received amount: success if it is the expected amount, otherwise mismatch.

        :raises SessionEnded: the session has ended already
        """
        is_exact = amount == self.expected_amount
        self.status = self.Status.SUCCESS if is_exact else self.Status.MISMATCH
        self.amount_received, self.ended_at = amount, now
        fields = ("status", "amount_received", "ended_at")
        if not update_if_unchanged(self, fields, still=("status", self.Status.PENDING)):
            raise SessionEnded
