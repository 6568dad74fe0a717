"""Proposals: actions of staff that move money or change rights, which a second person confirms."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.db import models
from django.db.models import F, Q

from kit.db.card_number_fields import FreeTextField
from merchants.models import Business, User


class ProposalQuerySet(models.QuerySet["Proposal"]):
    def open(self, *, at: datetime) -> ProposalQuerySet:
        """Return the proposals that can still be confirmed."""
        return self.filter(state=Proposal.State.OPEN, expires_at__gt=at)

    def overdue(self, *, at: datetime) -> ProposalQuerySet:
        return self.filter(state=Proposal.State.OPEN, expires_at__lte=at)


class Proposal(models.Model):
    """An action that a staff member proposes and another one confirms or declines. Amounts are minor units.

    Rights, fees and connectors have no amount and no currency; rights and default fees belong to no business.
    """

    class Action(models.TextChoices):
        """The proposed action. Comments say what `target` is the id of."""

        TOP_UP = "top_up", "Top up a wallet"  # the submitted form
        APPROVE_BATCH = "approve_batch", "Approve a settlement batch"  # the batch
        APPROVE_UNFUNDED = "approve_unfunded", "Approve a settlement batch without its money"  # the batch
        RELEASE_BATCH = "release_batch", "Release a settlement batch"  # the batch
        CREDIT_UNAPPLIED = "credit_unapplied", "Credit an unapplied transfer"  # the unapplied money
        RETURN_UNAPPLIED = "return_unapplied", "Return an unapplied transfer"  # the unapplied money
        REVERSE_PAYOUT = "reverse_payout", "Reverse a payout"  # the transaction
        RESOLVE_TRANSACTION = "resolve_transaction", "Resolve an unknown transaction"  # the transaction
        RESOLVE_OPERATION = "resolve_operation", "Resolve an unknown operation"  # the operation
        GIVE_ACCOUNT = "give_account", "Give the payer's account for a refund"  # the refund
        GIVE_RETURN_ACCOUNT = (
            "give_return_account",
            "Give the sender's account for a return",
        )  # the transaction of the return
        ASSIGN_UNCLAIMED = "assign_unclaimed", "Assign an unclaimed transfer"  # the unclaimed transfer
        WRITE_OFF_UNCLAIMED = (
            "write_off_unclaimed",
            "Write off an unclaimed transfer",
        )  # the unclaimed transfer
        MATCH_RETURN = "match_return", "Match a payout return"  # the payout return
        WRITE_OFF_RETURN = "write_off_return", "Write off a payout return"  # the payout return
        ASSIGN_DISPUTE = "assign_dispute", "Assign a dispute to its payment"  # the report of the dispute
        CREDIT_DISPUTE = "credit_dispute", "Credit the money of a lost dispute"  # the report of the dispute
        DISMISS_DISPUTE = "dismiss_dispute", "Dismiss an unmatched dispute"  # the report of the dispute
        RECORD_DISPUTE_DEBIT = "record_dispute_debit", "Record the debit of a dispute"  # the dispute
        JOURNAL = "journal", "Book a journal"  # the journal
        REVERSE_JOURNAL = "reverse_journal", "Reverse a journal"  # the journal that is reversed
        # Of these, an id that `rights` computes
        CHANGE_USER = "change_user", "Change the rights of a user"
        CHANGE_GROUP = "change_group", "Change a group of staff"
        AGREE_FEE = "agree_fee", "Agree a fee"
        CHOOSE_CONNECTORS = "choose_connectors", "Choose the connectors of a business"
        MATCH_BREAKS = "match_breaks", "Match breaks between a bank and the ledger"
        CHANGE_BANK_ACCOUNT = "change_bank_account", "Change a bank account of ours"
        AGREE_RISK_TERMS = "agree_risk_terms", "Agree risk terms"
        COLLECT_RESERVE = "collect_reserve", "Collect a debt from the reserve"  # the debt
        LIFT_FREEZE = "lift_freeze", "Lift the freeze of payouts"  # the freeze, by an id made of its business
        CLOSE_BUSINESS = "close_business", "Close a business"  # the business
        REOPEN_BUSINESS = "reopen_business", "Reopen a business"  # the business
        DECLARE_ACCOUNT = "declare_account", "Declare two accounts to be the same"  # the former account

    class State(models.TextChoices):
        OPEN = "open"  # awaits a second person
        CONFIRMED = "confirmed"  # and performed; final
        DECLINED = "declined"  # or withdrawn by the proposer; final
        EXPIRED = "expired"  # final

    id = models.UUIDField(primary_key=True, editable=False)  # version 7: sorts by creation
    action = models.CharField(max_length=20, choices=Action.choices)
    target = models.UUIDField()
    business = models.ForeignKey(
        Business, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    currency = models.CharField(max_length=3, blank=True)
    amount = models.BigIntegerField()
    parameters = models.JSONField(default=dict)  # plain text by name, never a secret
    # The state and amounts that it was made about (`made_about`), and the ids of the users who had the right to confirm
    # it then. None in rows of earlier releases, which can't be confirmed.
    made_about: Any = models.JSONField(null=True)
    confirmers = models.JSONField(null=True)
    reason = FreeTextField(max_length=255)
    evidence = FreeTextField(max_length=2000, blank=True)
    state = models.CharField(max_length=9, choices=State.choices, default=State.OPEN)
    proposed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    decided_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    decision_reason = FreeTextField(max_length=255, blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)

    objects = ProposalQuerySet.as_manager()

    class Meta:
        permissions: ClassVar = [("resolve_unknown", "Can resolve outcomes that no rail answers")]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["target"], condition=Q(state="open"), name="one_open_proposal_per_target"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["open", "confirmed", "declined", "expired"]),
                name="known_proposal_state",
            ),
            models.CheckConstraint(
                condition=~Q(state="confirmed")
                | Q(decided_by__isnull=False) & ~Q(decided_by=F("proposed_by")),
                name="a_second_person_confirms",
            ),
            models.CheckConstraint(
                condition=Q(state="open", decided_at__isnull=True)
                | ~Q(state="open") & Q(decided_at__isnull=False),
                name="only_decided_proposals_have_decided_at",
            ),
            models.CheckConstraint(condition=Q(amount__gte=0), name="proposed_amount_is_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.get_action_display()}: {self.target}"

    def decide(self, state: Proposal.State, *, by: User | None, reason: str, now: datetime) -> None:
        """Record the decision about an open proposal that the caller has locked."""
        self.state, self.decided_by, self.decision_reason, self.decided_at = state, by, reason, now
        self.save(update_fields=["state", "decided_by", "decision_reason", "decided_at"])
