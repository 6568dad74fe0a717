"""Incoming bank transfers, and unapplied money."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import Case, CharField, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Coalesce

from kit.db.card_number_fields import FreeTextField, FreeTextJSONField
from kit.money.money import money
from merchants.models import Business
from virtual_accounts.models.accounts import LONGEST_PROVIDER_ACCOUNT, VirtualAccount
from virtual_accounts.models.numbers import AccountNumber
from virtual_accounts.models.sessions import Session

UNKNOWN_SENDER = "Unknown sender"  # placeholder if the bank sends no sender's name
# Members of a notification, as the bank names them.
SENDER_ACCOUNT, SENDER_BANK = "sender_account_number", "sender_bank_code"
AWAITS_APPROVAL = "approval"  # on pages: money whose return another member has yet to approve


class Transfer(models.Model):
    """A transfer notified by the hosting bank, and how it was applied. Append-only. Amounts are minor units."""

    class Applied(models.TextChoices):
        SESSION = "session"  # an open session expected it
        NEW_PAYMENT = "new_payment"  # a static account without an open session received it
        UNAPPLIED = "unapplied"  # it matches nothing; see `reason`

    class Reason(models.TextChoices):
        """Why a transfer was not applied."""

        NONE = "", "applied"
        MISMATCH = "mismatch"  # an open session expected another amount; it ended that session
        LATE = "late"  # the session it was meant for has expired or ended
        SECOND = "second"  # the session it was meant for has already received a transfer
        INACTIVE = "inactive"  # the account was deactivated
        OTHER_CURRENCY = "other_currency"  # the account has another currency
        ASSIGNED = "assigned"  # its number was no account's; staff assigned it to the account

    # Reasons that refer to a session which had used the number for a payment.
    MEANT_FOR_A_PAYMENT = (Reason.MISMATCH, Reason.LATE, Reason.SECOND)

    id = models.UUIDField(primary_key=True, editable=False)
    bank_reference = models.CharField(max_length=100, unique=True)
    number = models.ForeignKey(AccountNumber, on_delete=models.PROTECT, related_name="transfers")
    account = models.ForeignKey(VirtualAccount, on_delete=models.PROTECT, related_name="transfers")
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    sender_name = FreeTextField(max_length=100)
    sender_account_number = models.CharField(max_length=10, blank=True)
    sender_bank_code = models.CharField(max_length=10, blank=True)
    narration = FreeTextField(max_length=255, blank=True, default="", db_default="")
    # Members sent by the bank that have no column or are too long for it, truncated, by name.
    extra_members = FreeTextJSONField(default=dict, db_default=Value({}, models.JSONField()), blank=True)
    # Our account at the provider that took it, and sends it back too. Empty: the hosting bank notified it.
    provider_account = models.CharField(
        max_length=LONGEST_PROVIDER_ACCOUNT, blank=True, default="", db_default=""
    )
    # The session that the provider opened for it. Its number may have been given to another session since.
    provider_session = models.UUIDField(null=True)
    received_at = models.DateTimeField()
    applied = models.CharField(max_length=11, choices=Applied.choices)
    session = models.OneToOneField(
        Session, on_delete=models.PROTECT, null=True, related_name="transfer"
    )  # the session that it ended
    reason = FreeTextField(max_length=14, choices=Reason.choices, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="transfer_amount_is_positive"),
            models.CheckConstraint(
                condition=Q(applied__in=["session", "new_payment"], session__isnull=False, reason="")
                | Q(applied="unapplied", session__isnull=False, reason="mismatch")
                | Q(applied="unapplied", session__isnull=True) & ~Q(reason__in=["", "mismatch"]),
                name="transfers_are_applied_or_not",
            ),
        ]

    def __str__(self) -> str:
        return self.bank_reference

    @property
    def is_unapplied(self) -> bool:
        return self.applied == self.Applied.UNAPPLIED

    @property
    def sender(self) -> dict[str, str]:
        """Return the sender's name, account number and bank code as sent by the bank, without unknown ones."""
        sender = {
            "name": self.sender_name if self.sender_name != UNKNOWN_SENDER else "",
            "account_number": self.sender_account_number or self.extra_members.get(SENDER_ACCOUNT, ""),
            "bank_code": self.sender_bank_code or self.extra_members.get(SENDER_BANK, ""),
        }
        return {name: value for name, value in sender.items() if value}


class UnappliedMoneyQuerySet(models.QuerySet["UnappliedMoney"]):
    def open(self) -> UnappliedMoneyQuerySet:
        """Return money without a decision."""
        return self.filter(state=UnappliedMoney.State.OPEN)

    def with_payment_reference(self) -> UnappliedMoneyQuerySet:
        """Annotate `payment_reference`: the reference of the payment that the transfer was meant for.

        That is the payment of the session that a provider opened for the transfer, or else the account's last one whose
        session used the number.
        """
        named = Session.objects.filter(pk=OuterRef("transfer__provider_session"))
        last = Session.objects.filter(
            account=OuterRef("transfer__account"),
            number=OuterRef("transfer__number"),
            opened_at__lte=OuterRef("transfer__received_at"),
        )
        reference = Coalesce(
            Subquery(named.values("payment__reference")),
            Subquery(last.order_by("-opened_at").values("payment__reference")[:1]),
        )
        return self.annotate(
            payment_reference=Case(
                When(transfer__reason__in=Transfer.MEANT_FOR_A_PAYMENT, then=reference),
                output_field=CharField(),
            )
        )


class UnappliedMoney(models.Model):
    """A transfer that matches nothing, held for its owner until it is credited or returned. Amounts are minor units."""

    class State(models.TextChoices):
        OPEN = "open"  # no decision yet, or the bank refused the return or sent it back
        RETURNED = "returned"  # a payout to its sender was ordered; final unless the money comes back
        CREDITED = "credited"  # credited to its owner; final

    id = models.UUIDField(primary_key=True, editable=False)
    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    transfer = models.OneToOneField(Transfer, on_delete=models.PROTECT, related_name="unapplied")
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    reason = FreeTextField(
        max_length=255, blank=True
    )  # of the return or credit; the bank's if it refused the return or sent it back
    actor = models.CharField(max_length=254, blank=True)
    reference = models.CharField(max_length=100, blank=True)  # of the latest payout to its sender
    is_accepted = models.BooleanField(
        default=False, db_default=False
    )  # credited for its payment, though short
    # What staff must do before the provider can carry out its return, while that is pending. A column of every transaction
    # would be read with each payment.
    attention = FreeTextField(max_length=255, blank=True, default="", db_default="")
    created_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)

    payment_reference: str | None  # annotated by `with_payment_reference`
    awaits_approval = False  # whether its return does; set by `awaited_returns.mark`

    objects = UnappliedMoneyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "unapplied money"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="unapplied_amount_is_positive"),
            models.CheckConstraint(
                condition=Q(state="open", decided_at__isnull=True)
                | Q(state__in=["returned", "credited"], decided_at__isnull=False)
                & ~Q(reason="")
                & ~Q(actor=""),
                name="decisions_have_reason_and_actor",
            ),
            models.CheckConstraint(
                condition=Q(is_accepted=False) | Q(state="credited"), name="only_credited_money_is_accepted"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["business", "-id"], name="unapplied_newest_first"),
            models.Index(fields=["business", "state", "-id"], name="unapplied_by_state"),
            models.Index(
                fields=["created_at"], condition=~Q(attention=""), name="unapplied_needing_attention"
            ),
        ]

    def __str__(self) -> str:
        return f"{money(self.amount, self.currency)} ({self.state})"

    @property
    def is_open(self) -> bool:
        return self.state == self.State.OPEN

    @property
    def shown_state(self) -> str:
        """Return the state that pages name: a return that another member has yet to approve has not been made."""
        return AWAITS_APPROVAL if self.awaits_approval else self.state

    @property
    def is_short(self) -> bool:
        """Return whether the money is less than its payment expected, so that it can be accepted for the payment."""
        session = self.transfer.session
        if session is None or self.transfer.reason != Transfer.Reason.MISMATCH:
            return False
        return self.amount < session.expected_amount

    @property
    def overpaid(self) -> int:
        """Return what the money is more than its payment expected, in minor units."""
        session = self.transfer.session
        if session is None or self.transfer.reason != Transfer.Reason.MISMATCH:
            return 0
        return max(0, self.amount - session.expected_amount)

    def decide(
        self,
        state: State,
        *,
        reason: str,
        actor: str,
        reference: str,
        now: datetime,
        is_accepted: bool = False,
    ) -> None:
        """Record the decision. The caller has locked the row and checked that it is open."""
        self.state, self.reason, self.actor, self.reference = state, reason, actor, reference
        self.decided_at, self.is_accepted = now, is_accepted
        self.save(update_fields=["state", "reason", "actor", "reference", "decided_at", "is_accepted"])

    def reopen(self, *, reason: str) -> None:
        """Open money again whose return the bank refused or sent back. It keeps the payout's reference. The caller has locked the row."""
        self.state, self.reason, self.actor, self.decided_at = self.State.OPEN, reason, "", None
        self.save(update_fields=["state", "reason", "actor", "decided_at"])
