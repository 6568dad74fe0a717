"""Operations on an existing payment: captures, voids and refunds."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from django.db import models
from django.db.models import Q

from kit.db.card_number_fields import FreeTextField
from merchants.models import Business
from payments.models.state_errors import AlreadyTransitioned
from payments.models.transactions import gateway_codes
from payments.models.transactions.transactions import LONGEST_ACCOUNT, Transaction
from payments.rules.outcomes import PROCESSING
from payments.rules.words.status_names import outcome_name

if TYPE_CHECKING:
    from payments.rails.protocol import RailAnswer


class CardOperationQuerySet(models.QuerySet["CardOperation"]):
    def unanswered(self) -> CardOperationQuerySet:
        """Return operations with an unknown outcome. Has an index."""
        return self.filter(status=CardOperation.Status.PENDING)

    def needing_attention(self) -> CardOperationQuerySet:
        """Return refunds that the provider can't carry out until staff act. Has an index."""
        return self.unanswered().exclude(attention="")

    def refused_voids(self) -> CardOperationQuerySet:
        """Return voids that the acquirer declined. The amount may still be reserved on the card. Has an index."""
        return self.filter(kind=CardOperation.Kind.VOID, status=CardOperation.Status.FAILED)


class CardOperation(models.Model):
    """A capture, void or refund of a card payment, or a refund of a transfer payment.

    A refund of a transfer payment is sent to the bank in `connector` and pays the destination account, or to the provider
    that received the money, which knows the account itself. All others are sent to the connector of their transaction.
    """

    class Kind(models.TextChoices):
        CAPTURE = "capture"
        VOID = "void"
        REFUND = "refund"

    class Status(models.TextChoices):
        PENDING = "pending"  # the outcome is unknown
        SUCCESS = "success"  # final
        FAILED = "failed"  # declined by the acquirer; final

    id = models.UUIDField(primary_key=True, editable=False)
    transaction = models.ForeignKey(Transaction, on_delete=models.PROTECT, related_name="operations")
    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=7, choices=Kind.choices)
    reference = models.CharField(max_length=100, null=True)  # refunds: the merchant's
    fingerprint = models.CharField(max_length=64, blank=True)
    reason = FreeTextField(max_length=255, blank=True)
    amount = models.BigIntegerField()
    # Refunds of transfer payments; empty otherwise.
    connector = models.CharField(max_length=20, blank=True, default="", db_default="")
    account = models.CharField(max_length=LONGEST_ACCOUNT, blank=True, default="", db_default="")
    destination_name = FreeTextField(max_length=255, blank=True, default="", db_default="")
    destination_account_number = models.CharField(max_length=10, blank=True, default="", db_default="")
    destination_bank_code = models.CharField(max_length=10, blank=True, default="", db_default="")
    # Refunds by bank transfer that had to be covered: the last postings of both accounts when this one was accepted.
    wallet_sequence = models.BigIntegerField(null=True)
    pending_sequence = models.BigIntegerField(null=True)
    # Our identifiers at the acquirer. Retries repeat them.
    system_trace_audit_number = models.CharField(max_length=6, blank=True)
    retrieval_reference_number = models.CharField(max_length=12, blank=True)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.PENDING)
    response_code = models.CharField(max_length=5, default=PROCESSING.code)
    response_summary = FreeTextField(max_length=255, default=PROCESSING.summary)
    gateway_code = models.CharField(max_length=3, blank=True)
    long_gateway_code = models.CharField(
        max_length=gateway_codes.LONGEST, blank=True, default="", db_default=""
    )
    # The rail's own identifier, sent with later queries.
    acquirer_reference = models.CharField(max_length=64, blank=True, default="", db_default="")
    acquirer_transaction_id = models.CharField(max_length=64, blank=True, default="", db_default="")
    # What staff must do before the provider can carry it out, while it is pending.
    attention = FreeTextField(max_length=255, blank=True, default="", db_default="")
    next_query_at = models.DateTimeField(null=True)
    query_leased_until = models.DateTimeField(null=True)  # until then, only one process queries the acquirer
    queries_made = models.PositiveSmallIntegerField(default=0)
    # Refunds by bank transfer: when a query was last allowed to send it again. Null: it was sent once, at `created_at`.
    sent_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    objects = CardOperationQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["business", "reference"], name="one_refund_per_reference"),
            models.UniqueConstraint(
                fields=["transaction"],
                condition=Q(kind__in=["capture", "void"], status__in=["pending", "success"]),
                name="captured_or_voided_once",
            ),
            models.CheckConstraint(
                condition=Q(kind="refund", reference__isnull=False)
                | ~Q(kind="refund") & Q(reference__isnull=True),
                name="refunds_have_references",
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="operation_amount_is_positive"),
            models.CheckConstraint(
                condition=Q(status="pending", finished_at__isnull=True)
                | ~Q(status="pending") & Q(finished_at__isnull=False),
                name="only_finished_operations_have_finished_at",
            ),
            models.CheckConstraint(
                condition=Q(
                    connector="",
                    destination_name="",
                    destination_account_number="",
                    destination_bank_code="",
                )
                | Q(kind="refund", destination_account_number="", destination_bank_code="")
                & ~Q(connector="")
                & ~Q(destination_name="")
                | Q(kind="refund")
                & ~Q(connector="")
                & ~Q(destination_name="")
                & ~Q(destination_account_number="")
                & ~Q(destination_bank_code=""),
                name="transfer_refunds_have_destinations",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["next_query_at"], condition=Q(status="pending"), name="operations_unanswered"
            ),
            models.Index(
                fields=["created_at"],
                condition=Q(status="pending") & ~Q(attention=""),
                name="operations_needing_attention",
            ),
            models.Index(
                fields=["finished_at"],
                condition=Q(kind="void", status="failed"),
                name="operations_voids_refused",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.transaction_id}"

    @property
    def first_sent_at(self) -> datetime:
        """Return when it was first sent, as of a transaction."""
        return self.created_at

    @property
    def is_transfer_refund(self) -> bool:
        return self.connector != ""

    @property
    def pays_named_account(self) -> bool:
        """Return whether it is paid to a destination account that we know."""
        return self.destination_account_number != ""

    @property
    def full_gateway_code(self) -> str:
        """Return the gateway's code, whichever column it is in."""
        return self.gateway_code or self.long_gateway_code

    @property
    def outcome_text(self) -> str:
        """Return the summary for pages."""
        is_refund = self.kind == self.Kind.REFUND
        return outcome_name(self.response_summary, subject="Refund" if is_refund else "Payment")

    @property
    def is_unsent(self) -> bool:
        """Return whether this is a void that `expiry` opened and `requery` hasn't sent yet."""
        return self.kind == self.Kind.VOID and not self.transaction.is_pending and self.queries_made == 0

    def finish(self, answer: RailAnswer, *, now: datetime) -> None:
        """Change the status from pending to the rail's outcome.

        :raises AlreadyTransitioned: the operation was already finished
        """
        if self.status != self.Status.PENDING:
            raise AlreadyTransitioned
        outcome = answer.outcome
        self.status = self.Status.SUCCESS if outcome.is_success else self.Status.FAILED
        self.response_code, self.response_summary = outcome.code, outcome.summary
        self.gateway_code, self.long_gateway_code = gateway_codes.columns_of(outcome.gateway_code)
        self.acquirer_transaction_id = answer.acquirer_transaction_id
        self.acquirer_reference = answer.acquirer_reference or self.acquirer_reference
        self.attention, self.next_query_at = "", None
        self.finished_at = now
        self.save(
            update_fields=[
                "status",
                "response_code",
                "response_summary",
                "gateway_code",
                "long_gateway_code",
                "acquirer_transaction_id",
                "acquirer_reference",
                "attention",
                "next_query_at",
                "finished_at",
            ]
        )

    def keep_identifiers(self, answer: RailAnswer) -> None:
        """Store the identifier of an answer that leaves the outcome unknown, and what it asks of staff, if it is new."""
        known = (self.acquirer_reference, self.attention)
        self.acquirer_reference = answer.acquirer_reference or self.acquirer_reference
        self.attention = answer.attention
        if (self.acquirer_reference, self.attention) != known:
            self.save(update_fields=["acquirer_reference", "attention"])

    def schedule_next_query(self, *, query_at: datetime, queries_made: int) -> None:
        """Schedule the next query of an unknown outcome, and release the lease."""
        self.next_query_at, self.query_leased_until = query_at, None
        self.queries_made = queries_made
        self.save(update_fields=["next_query_at", "query_leased_until", "queries_made"])
