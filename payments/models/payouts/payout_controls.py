"""What protects a business's payouts: limits, approval by its members, a question to its server, and a freeze."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.db.models import F, Q

from kit.db.card_number_fields import CheckedURLField, FreeTextField
from merchants.models import Business, User
from payments.models.transactions.transactions import Transaction


class PayoutControls(models.Model):
    """The controls of one business. A business without a row has none.

    Amounts are minor units by currency; a currency without one has no limit.
    """

    class Approval(models.TextChoices):
        NEVER = "never", "Never"
        ABOVE = "above", "Above an amount"
        ALWAYS = "always", "Always"

    business = models.OneToOneField(
        Business, on_delete=models.CASCADE, primary_key=True, related_name="payout_controls"
    )
    # What owners set.
    per_payout = models.JSONField(default=dict, blank=True)
    per_day = models.JSONField(default=dict, blank=True)
    per_beneficiary_and_day = models.JSONField(default=dict, blank=True)
    new_beneficiaries = models.JSONField(default=dict, blank=True)  # in the first 24 hours of an account
    number_per_day = models.PositiveIntegerField(null=True, blank=True)
    ask_instead = models.BooleanField(default=False)  # over a limit: wait for approval, instead of a 409
    approval = models.CharField(max_length=6, choices=Approval.choices, default=Approval.NEVER)
    approval_above = models.JSONField(default=dict, blank=True)
    keys_need_approval = models.BooleanField(default=True)
    two_approvals_above = models.JSONField(default=dict, blank=True)
    server_url = CheckedURLField(max_length=2048, blank=True, default="")  # empty: it isn't asked
    # What staff set: the highest value of each limit, by its name.
    caps: Any = models.JSONField(default=dict, blank=True)
    frozen_at = models.DateTimeField(null=True, blank=True)
    freeze_reason = FreeTextField(max_length=255, blank=True, default="")

    class Meta:
        verbose_name_plural = "payout controls"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(approval__in=["never", "above", "always"]), name="known_payout_approval"
            ),
            models.CheckConstraint(
                condition=Q(frozen_at__isnull=True, freeze_reason="")
                | Q(frozen_at__isnull=False) & ~Q(freeze_reason=""),
                name="freezes_of_payouts_have_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"payout controls of {self.business_id}"


class PayoutControlsChange(models.Model):
    """A change that loosens controls. It applies when a second owner confirms it, or at `applies_at` without one."""

    class State(models.TextChoices):
        OPEN = "open"
        APPLIED = "applied"  # final
        WITHDRAWN = "withdrawn"  # or declined, or replaced by a newer one; final

    id = models.UUIDField(primary_key=True, editable=False)
    business = models.ForeignKey(Business, on_delete=models.CASCADE, related_name="+", db_index=False)
    changes: Any = models.JSONField()  # the new values by the names of the columns
    state = models.CharField(max_length=9, choices=State.choices, default=State.OPEN)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    decided_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField()
    applies_at = models.DateTimeField(null=True)  # null: a second owner decides
    decided_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["business"], condition=Q(state="open"), name="one_open_change_of_payout_controls"
            ),
            models.CheckConstraint(
                condition=Q(state="open", decided_at__isnull=True)
                | Q(state__in=["applied", "withdrawn"], decided_at__isnull=False),
                name="only_decided_changes_of_controls_have_decided_at",
            ),
            models.CheckConstraint(
                condition=~Q(state="applied")
                | Q(applies_at__isnull=False, decided_by__isnull=True)
                | Q(applies_at__isnull=True, decided_by__isnull=False) & ~Q(decided_by=F("made_by")),
                name="a_second_owner_or_time_loosens_controls",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["applies_at"],
                condition=Q(state="open", applies_at__isnull=False),
                name="changes_of_controls_due",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.state} change of {self.business_id}"


class PayoutLimitCheck(models.Model):
    """The limits that a payout was accepted under. Ids follow the order in which payouts were counted.

    Limits are minor units in the payout's currency, null without one. `check_ledger` counts again.
    """

    transaction = models.OneToOneField(
        Transaction, on_delete=models.PROTECT, related_name="limit_check", db_constraint=False
    )
    business = models.ForeignKey(Business, on_delete=models.CASCADE, related_name="+", db_index=False)
    currency = models.CharField(max_length=3)
    day_began_at = models.DateTimeField()  # of the business's time zone
    per_payout = models.BigIntegerField(null=True)
    per_day = models.BigIntegerField(null=True)
    per_beneficiary_and_day = models.BigIntegerField(null=True)
    new_beneficiaries = models.BigIntegerField(null=True)  # null also for accounts that aren't new
    number_per_day = models.BigIntegerField(null=True)
    account_since = models.DateTimeField(null=True)  # the first payout to an account that is new
    is_over = models.BooleanField(default=False)  # it waits for approval instead of being refused

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["business", "day_began_at", "id"], name="limit_checks_of_day"),
        ]

    def __str__(self) -> str:
        return f"limits of {self.transaction_id}"
