"""Settlement accounts: where a business's settlements are paid to, and the payouts that paid them.

Amounts are minor units.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from kit import banks
from kit.db.card_number_fields import FreeTextField
from merchants.models import Business, User
from payments.models.settlement.batches import SettlementBatch
from payments.models.transactions.transactions import Transaction
from payments.rules.settlement.payout_days import WEEKDAYS


class SettlementAccountQuerySet(models.QuerySet["SettlementAccount"]):
    def paid_automatically(self) -> SettlementAccountQuerySet:
        """Return the accounts whose schedule isn't paused."""
        active = self.filter(since__isnull=False, paused_at__isnull=True, business__is_active=True)
        return active.exclude(pays=SettlementAccount.Pays.NEVER)


class SettlementAccount(models.Model):
    """A business's own bank account in one currency, and when its wallet is paid out to it.

    Without `since` there is no account yet: the first one waits (`SettlementAccountChange`).
    """

    class Pays(models.TextChoices):
        NEVER = "never", "Never"
        DAILY = "daily", "Daily"
        WEEKLY = "weekly", "Weekly"

    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    currency = models.CharField(max_length=3)
    bank_code = models.CharField(max_length=10, blank=True)
    account_number = models.CharField(max_length=10, blank=True)
    account_name = FreeTextField(max_length=255, blank=True)  # as the bank said
    since = models.DateTimeField(null=True)
    pays = models.CharField(max_length=6, choices=Pays.choices, default=Pays.NEVER)
    weekday = models.PositiveSmallIntegerField(null=True)  # 0 is Monday
    minimum = models.PositiveBigIntegerField(default=0)  # the schedule pays no smaller amount
    stays = models.PositiveBigIntegerField(default=0)  # what is left in the wallet
    batches_from = models.DateTimeField(null=True)  # payouts name batches that were released from then on
    next_attempt_at = models.DateTimeField(null=True)  # after a failure that may pass
    failures_since = models.DateTimeField(null=True)  # earlier payouts don't count for a pause
    paused_at = models.DateTimeField(null=True)
    pause_reason = FreeTextField(max_length=255, blank=True)
    created_at = models.DateTimeField()

    objects = SettlementAccountQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["business", "currency"], name="one_settlement_account_per_currency"
            ),
            models.CheckConstraint(
                condition=Q(pays__in=["never", "daily"], weekday__isnull=True)
                | Q(pays="weekly", weekday__isnull=False, weekday__lte=6),
                name="weekly_settlement_payouts_have_a_weekday",
            ),
            models.CheckConstraint(
                condition=Q(since__isnull=True, bank_code="", account_number="")
                | Q(since__isnull=False) & ~Q(bank_code="") & ~Q(account_number=""),
                name="settlement_accounts_are_complete",
            ),
            models.CheckConstraint(
                condition=Q(paused_at__isnull=True, pause_reason="")
                | Q(paused_at__isnull=False) & ~Q(pause_reason=""),
                name="pauses_of_settlement_payouts_have_a_reason",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["id"],
                condition=Q(pays__in=["daily", "weekly"], paused_at__isnull=True, since__isnull=False),
                name="accounts_paid_automatically",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.currency} settlement account of {self.business_id}"

    @property
    def is_stored(self) -> bool:
        return not self._state.adding

    @property
    def is_set(self) -> bool:
        return self.since is not None

    @property
    def bank_name(self) -> str:
        return banks.name_of(self.bank_code)

    @property
    def weekday_name(self) -> str:
        return "" if self.weekday is None else WEEKDAYS[self.weekday]


class SettlementAccountChange(models.Model):
    """A change of a settlement account. It applies when its wait is over and, if needed, a second owner has confirmed it."""

    class State(models.TextChoices):
        OPEN = "open"
        APPLIED = "applied"  # final
        STOPPED = "stopped"  # by an owner, or replaced by a newer one; final

    id = models.UUIDField(primary_key=True, editable=False)  # version 7: sorts by creation
    account = models.ForeignKey(
        SettlementAccount, on_delete=models.PROTECT, related_name="changes", db_index=False
    )
    bank_code = models.CharField(max_length=10)
    account_number = models.CharField(max_length=10)
    account_name = FreeTextField(max_length=255)  # as the bank said
    state = models.CharField(max_length=7, choices=State.choices, default=State.OPEN)
    needs_second_owner = models.BooleanField()
    made_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )  # null: the sandbox took the first account
    confirmed_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    stopped_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField()
    applies_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["account"], condition=Q(state="open"), name="one_open_change_of_settlement_account"
            ),
            models.CheckConstraint(
                condition=Q(state="open", decided_at__isnull=True, stopped_by__isnull=True)
                | Q(state="applied", decided_at__isnull=False, stopped_by__isnull=True)
                | Q(state="stopped", decided_at__isnull=False, stopped_by__isnull=False),
                name="only_decided_changes_of_accounts_have_decided_at",
            ),
            models.CheckConstraint(
                condition=~Q(state="applied")
                | Q(decided_at__gte=F("applies_at"))
                & (Q(needs_second_owner=False) | Q(confirmed_by__isnull=False)),
                name="settlement_accounts_change_after_their_wait",
            ),
            models.CheckConstraint(
                condition=Q(made_by__isnull=False) | Q(state="applied"),
                name="waiting_changes_of_accounts_have_makers",
            ),
            models.CheckConstraint(
                condition=Q(confirmed_by__isnull=True) | ~Q(confirmed_by=F("made_by")),
                name="a_second_owner_confirms_settlement_accounts",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["applies_at"], condition=Q(state="open"), name="changes_of_accounts_due"),
        ]

    def __str__(self) -> str:
        return f"{self.state} change of {self.account_id}"

    @property
    def bank_name(self) -> str:
        return banks.name_of(self.bank_code)

    @property
    def awaits_owner(self) -> bool:
        return self.needs_second_owner and self.confirmed_by_id is None


class SettlementPayout(models.Model):
    """A payout of a wallet to the settlement account. Open until its outcome was followed up."""

    class Trigger(models.TextChoices):
        SCHEDULE = "schedule", "Schedule"
        MEMBER = "member", "Member"

    class Outcome(models.TextChoices):
        OPEN = "", "Pending"
        PAID = "paid", "Paid"
        FAILED = "failed", "Failed"
        RETURNED = "returned", "Returned"  # after it was paid, all of it or a part

    payout = models.OneToOneField(
        Transaction,
        on_delete=models.PROTECT,
        primary_key=True,
        related_name="settlement_payout",
        db_constraint=False,
    )
    account = models.ForeignKey(
        SettlementAccount, on_delete=models.PROTECT, related_name="payouts", db_index=False
    )
    trigger = models.CharField(max_length=8, choices=Trigger.choices)
    day = models.DateField(help_text="Business day, Africa/Lagos.")
    outcome = models.CharField(max_length=8, blank=True, choices=Outcome.choices, default=Outcome.OPEN)
    # What the bank has sent back of it, as far as its batches were left to the next payout.
    amount_returned = models.PositiveBigIntegerField(default=0, db_default=0)
    reason = FreeTextField(max_length=255, blank=True)  # why it failed or came back
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["account"], condition=Q(outcome=""), name="one_open_settlement_payout"
            ),
            models.CheckConstraint(
                condition=Q(outcome__in=["", "paid", "failed", "returned"]),
                name="known_outcome_of_settlement_payout",
            ),
            models.CheckConstraint(
                condition=Q(outcome__in=["", "paid"], reason="")
                | Q(outcome__in=["failed", "returned"]) & ~Q(reason=""),
                name="lost_settlement_payouts_have_a_reason",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["account", "-payout"], name="settlement_payouts_newest"),
        ]

    def __str__(self) -> str:
        return f"settlement payout {self.payout_id}"

    @property
    def is_lost(self) -> bool:
        """Return whether its money is in the wallet again, all of it or a part."""
        return self.outcome in {self.Outcome.FAILED, self.Outcome.RETURNED}


class SettlementPayoutBatch(models.Model):
    """A batch whose net a settlement payout has paid. `is_live`: it was not lost."""

    payout = models.ForeignKey(
        SettlementPayout, on_delete=models.PROTECT, related_name="batches", db_index=False
    )
    batch = models.ForeignKey(
        SettlementBatch, on_delete=models.PROTECT, related_name="payouts", db_index=False
    )
    is_live = models.BooleanField(default=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["payout", "batch"], name="batches_once_in_a_settlement_payout"),
            models.UniqueConstraint(
                fields=["batch"], condition=Q(is_live=True), name="batch_in_one_live_settlement_payout"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["batch"], name="settlement_payouts_of_a_batch")]

    def __str__(self) -> str:
        return f"{self.batch_id} by {self.payout_id}"
