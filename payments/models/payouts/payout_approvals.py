"""Approvals of payouts by members of the business, and questions to its server, before anything is sent."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from kit.db.card_number_fields import FreeTextField
from merchants.models import ApiKey, Business, User
from payments.models.transactions.transactions import Transaction


class PayoutApproval(models.Model):
    """The approval that one payout or a set of payouts waits for. The set refers to it; one payout is named here."""

    class State(models.TextChoices):
        WAITING = "waiting"
        APPROVED = "approved"  # final
        REJECTED = "rejected"  # by a member, with a reason; final
        CANCELLED = "cancelled"  # by the business, or because the payouts have changed; final
        EXPIRED = "expired"  # without a decision for 72 hours; final

    id = models.UUIDField(primary_key=True, editable=False)
    business = models.ForeignKey(Business, on_delete=models.CASCADE, related_name="+", db_index=False)
    transaction = models.OneToOneField(
        Transaction, on_delete=models.PROTECT, null=True, related_name="approval", db_constraint=False
    )
    # What was approved is what is sent: SHA-256 of all payouts, compared before the first is sent.
    digest = models.CharField(max_length=64)
    why = FreeTextField(max_length=255)
    needed = models.PositiveSmallIntegerField()  # approvals of different members
    # Who made the payouts and may not approve them: the member, also the one who made the key.
    maker = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    key = models.ForeignKey(ApiKey, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    state = models.CharField(max_length=9, choices=State.choices, default=State.WAITING)
    reason = FreeTextField(max_length=255, blank=True, default="")
    decided_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    mailed_at = models.DateTimeField(null=True)  # to the members who can approve
    decided_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(needed__in=[1, 2]), name="one_or_two_approvals"),
            models.CheckConstraint(
                condition=Q(state="waiting", decided_at__isnull=True)
                | Q(state__in=["approved", "rejected", "cancelled", "expired"], decided_at__isnull=False),
                name="only_decided_approvals_have_decided_at",
            ),
            models.CheckConstraint(
                condition=~Q(state="rejected") | ~Q(reason=""), name="rejected_payouts_have_a_reason"
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["business", "-id"], condition=Q(state="waiting"), name="approvals_waiting_of"
            ),
            models.Index(fields=["expires_at"], condition=Q(state="waiting"), name="approvals_overdue"),
        ]

    def __str__(self) -> str:
        return f"{self.state} approval {self.pk}"


class PayoutApprovalGrant(models.Model):
    """One member's approval. Append-only."""

    approval = models.ForeignKey(
        PayoutApproval, on_delete=models.CASCADE, related_name="grants", db_index=False
    )
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["approval", "user"], name="one_grant_per_member"),
        ]

    def __str__(self) -> str:
        return f"approval by {self.user_id}"


class PayoutServerQuestion(models.Model):
    """The question to the business's server whether one payout or a set of payouts may be sent."""

    class State(models.TextChoices):
        ASKING = "asking"
        APPROVED = "approved"  # final
        DENIED = "denied"  # final
        UNANSWERED = "unanswered"  # no decision in any attempt; final
        CANCELLED = "cancelled"  # the payout has ended meanwhile; final

    id = models.UUIDField(primary_key=True, editable=False)
    business = models.ForeignKey(Business, on_delete=models.CASCADE, related_name="+", db_index=False)
    transaction = models.OneToOneField(
        Transaction, on_delete=models.PROTECT, null=True, related_name="server_question", db_constraint=False
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.ASKING)
    attempts = models.PositiveSmallIntegerField(default=0)
    last_answer = models.CharField(max_length=100, blank=True, default="")  # in our words, for members
    next_attempt_at = models.DateTimeField()
    leased_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(state="asking", decided_at__isnull=True)
                | Q(state__in=["approved", "denied", "unanswered", "cancelled"], decided_at__isnull=False),
                name="only_decided_questions_have_decided_at",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["next_attempt_at"], condition=Q(state="asking"), name="questions_due"),
        ]

    def __str__(self) -> str:
        return f"{self.state} question {self.pk}"
