"""Disputes: what a cardholder's bank takes back of a successful card payment. Amounts are minor units.

Only the services here change a dispute, under the lock of its payment.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from kit.db.card_number_fields import FreeTextField
from merchants.models import Business
from payments.models import Transaction
from payments.models.transactions.transactions import LONGEST_ACCOUNT
from payments.rules.words.dispute_words import (
    LONGEST_CASE_NUMBER,
    LONGEST_TEXT,
    OPEN,
    EvidenceKind,
    Reason,
    Stage,
    Status,
)


class DisputeQuerySet(models.QuerySet["Dispute"]):
    def of(self, business: Business) -> DisputeQuerySet:
        """Return the disputes of a business. Those of others are treated as missing."""
        return self.filter(business=business)

    def open(self) -> DisputeQuerySet:
        return self.filter(status__in=OPEN)

    def overdue(self, *, at: datetime) -> DisputeQuerySet:
        """Return disputes that were not answered in time. Has an index."""
        return self.filter(status=Status.NEEDS_RESPONSE, respond_by__lte=at)

    def with_answer_to_write(self) -> DisputeQuerySet:
        """Return disputes whose answer is in no file yet. Has an index."""
        return self.filter(answer__isnull=False, answer_batch__isnull=True)

    def for_representation(self) -> DisputeQuerySet:
        """Load the related rows that the representation shows."""
        return self.select_related("transaction").prefetch_related("evidence")


class Dispute(models.Model):
    """One stage of a case. A later stage of the same case is another row, linked by `previous`."""

    id = models.UUIDField(primary_key=True, editable=False)  # version 7: sorts by creation
    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    transaction = models.ForeignKey(Transaction, on_delete=models.PROTECT, related_name="disputes")
    # The key of intake: where the case was reported, its number there, and the stage.
    connector = models.CharField(max_length=20)
    account = models.CharField(max_length=LONGEST_ACCOUNT, blank=True)
    case_number = models.CharField(max_length=LONGEST_CASE_NUMBER)
    stage = models.CharField(max_length=15, choices=Stage.choices)

    status = models.CharField(max_length=14, choices=Status.choices, default=Status.NEEDS_RESPONSE)
    reason = models.CharField(max_length=22, choices=Reason.choices)
    network_reason = FreeTextField(max_length=100, blank=True)  # the network's own code, as it was reported
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    fee = models.BigIntegerField(default=0)
    outcome_amount = models.BigIntegerField(null=True)  # what comes back to the business; final ones only
    already_refunded = models.BooleanField(default=False)  # at intake, less than the amount was left
    previous = models.OneToOneField("self", on_delete=models.PROTECT, null=True, related_name="next")
    debited_at = models.DateTimeField(null=True)  # when the acquirer's debit was recorded
    opened_at = models.DateTimeField()  # at the cardholder's bank, as far as it was reported
    respond_by = models.DateTimeField(null=True)  # ours: before the network's deadline
    network_due_at = models.DateTimeField(null=True)  # the network's, where it is reported
    remind_at = models.DateTimeField(null=True)  # when half or three quarters of the time to answer are over
    answer = models.JSONField(null=True)  # what was submitted or accepted, so that it can be repeated
    answer_batch = models.ForeignKey(
        "AnswerBatch", on_delete=models.PROTECT, null=True, related_name="disputes", db_index=False
    )  # the files that the answer was written to
    resolved_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = DisputeQuerySet.as_manager()

    class Meta:
        permissions: ClassVar = [("settle_dispute", "Can record debits and settle unmatched disputes")]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["connector", "account", "case_number", "stage"], name="one_dispute_per_case_and_stage"
            ),
            # So that the stages of a case, reported at the same time, don't get to several payments.
            models.UniqueConstraint(
                fields=["connector", "account", "case_number"],
                condition=Q(previous=None),
                name="one_first_dispute_per_case",
            ),
            models.CheckConstraint(condition=Q(amount__gt=0, fee__gte=0), name="dispute_amount_is_positive"),
            models.CheckConstraint(
                condition=Q(
                    status__in=["needs_response", "under_review"], resolved_at=None, outcome_amount=None
                )
                | Q(
                    status__in=["accepted", "expired", "won", "lost", "withdrawn"],
                    resolved_at__isnull=False,
                    outcome_amount__gte=0,
                    outcome_amount__lte=F("amount"),
                ),
                name="only_ended_disputes_have_an_outcome",
            ),
            models.CheckConstraint(
                condition=~Q(stage="inquiry") | Q(fee=0, debited_at=None), name="inquiries_move_no_money"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["case_number"], name="disputes_by_case_number"),
            # Columns after the id filter what the list of a page counts, without reading rows.
            models.Index(
                fields=["business", "-id", "status", "stage", "reason"], name="disputes_newest_filtered"
            ),
            models.Index(
                fields=["business", "status", "-id", "stage", "reason"], name="disputes_of_status_filtered"
            ),
            models.Index(
                fields=["business", "stage", "-id", "status", "reason"], name="disputes_of_stage_filtered"
            ),
            models.Index(
                fields=["respond_by"], condition=Q(status="needs_response"), name="disputes_to_answer"
            ),
            models.Index(
                fields=["remind_at"],
                condition=Q(status="needs_response", remind_at__isnull=False),
                name="disputes_to_remind",
            ),
            models.Index(
                fields=["connector", "account"],
                condition=Q(answer__isnull=False, answer_batch__isnull=True),
                name="dispute_answers_to_write",
            ),
            models.Index(
                fields=["answer_batch"],
                condition=Q(answer_batch__isnull=False),
                name="disputes_of_answer_batch",
            ),
            models.Index(
                fields=["business", "-id", "status", "stage", "currency", "amount"],
                condition=Q(status__in=["needs_response", "under_review"]),
                name="open_disputes_with_amounts",
            ),
            models.Index(
                fields=["business", "respond_by"],
                condition=Q(status__in=["needs_response", "under_review"]),
                name="open_disputes_by_deadline",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.case_number} ({self.get_stage_display()})"

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def has_answer_to_write(self) -> bool:
        return self.answer is not None and self.answer_batch_id is None

    def is_overdue(self, *, at: datetime) -> bool:
        """Return whether the time to respond is over."""
        return self.respond_by is not None and self.respond_by <= at

    def awaits_answer(self, *, at: datetime) -> bool:
        """Return whether the business may respond."""
        return self.status == Status.NEEDS_RESPONSE and not self.is_overdue(at=at)

    @property
    def moves_money(self) -> bool:
        return self.stage != Stage.INQUIRY

    @property
    def amount_lost(self) -> int:
        """Return what an ended dispute took from the business."""
        return self.amount - (self.outcome_amount or 0) if self.moves_money and not self.is_open else 0


class DisputeStep(models.Model):
    """What happened to a dispute: the key of its bookings, events and items of settlements. Append-only."""

    class Kind(models.TextChoices):
        OPENED = "opened"
        CHANGED = "changed"  # another deadline, or the acquirer is reviewing it already
        SUBMITTED = "submitted"
        HALF_TIME = "half_time"  # half of the time to answer is over
        LAST_QUARTER = "last_quarter"  # three quarters are
        DEBITED = "debited"  # the acquirer's debit was recorded
        CLOSED = "closed"
        CORRECTED = "corrected"  # staff gave back what was booked as lost

    id = models.UUIDField(primary_key=True, editable=False)
    dispute = models.ForeignKey(Dispute, on_delete=models.PROTECT, related_name="steps")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    status = models.CharField(max_length=14, choices=Status.choices)  # afterwards
    taken = models.BigIntegerField(default=0)  # from pending settlement; negative: given back
    fee = models.BigIntegerField(default=0)  # the same
    actor = FreeTextField(max_length=254, blank=True)  # who did it, if a person or a key
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["dispute", "kind"],
                condition=~Q(kind__in=["changed", "corrected"]),
                name="one_dispute_step_of_each_kind",
            ),
            models.CheckConstraint(
                condition=Q(taken=0, fee=0) | Q(kind__in=["opened", "closed", "corrected"]),
                name="only_some_dispute_steps_move_money",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.dispute_id}"


class DisputeMail(models.Model):
    """An e-mail about a step that isn't sent yet. It is deleted once it is."""

    step = models.OneToOneField(DisputeStep, on_delete=models.CASCADE, primary_key=True, related_name="mail")
    due_at = models.DateTimeField(db_index=True)  # while it is being sent: when the lease ends

    def __str__(self) -> str:
        return f"mail about {self.step_id}"


class DisputeEvidence(models.Model):
    """A text or a file that the business sends with its answer, or that we added about the payment."""

    id = models.UUIDField(primary_key=True, editable=False)
    dispute = models.ForeignKey(Dispute, on_delete=models.PROTECT, related_name="evidence")
    kind = models.CharField(max_length=22, choices=EvidenceKind.choices)
    text = FreeTextField(max_length=LONGEST_TEXT, blank=True)
    # A file; empty for a text.
    name = FreeTextField(max_length=100, blank=True)
    type = models.CharField(max_length=15, blank=True)
    size = models.PositiveIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    # The person or key that added it; empty if we did.
    actor = FreeTextField(max_length=254, blank=True, default="", db_default="")
    created_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=~Q(text="") & Q(name="", type="", size=0, sha256="")
                | Q(text="") & ~Q(name="") & ~Q(type="") & Q(size__gt=0) & ~Q(sha256=""),
                name="evidence_is_a_text_or_a_file",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.dispute_id}"

    @property
    def is_file(self) -> bool:
        return bool(self.name)


class DisputeFile(models.Model):
    """The bytes of a file of evidence, apart from it, so that lists don't read them."""

    evidence = models.OneToOneField(
        DisputeEvidence, on_delete=models.CASCADE, primary_key=True, related_name="file"
    )
    content = models.BinaryField(max_length=4 * 1024 * 1024)

    def __str__(self) -> str:
        return f"file {self.evidence_id}"


class AnswerBatch(models.Model):
    """Answers that were written to files for an acquirer. Each answer is in one batch."""

    connector = models.CharField(max_length=20)
    account = models.CharField(max_length=LONGEST_ACCOUNT, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "answer batches"

    def __str__(self) -> str:
        return f"answers {self.pk}"


class AnswerSending(models.Model):
    """The way of an answer to a provider that takes it by calls: once, and a lost answer is queried."""

    class Result(models.TextChoices):
        """How it ended. Values are stored, so they stay."""

        WAITING = "", "waiting"
        DELIVERED = "delivered"
        NOT_SENT = "not_sent"  # the case had ended there, or was answered in the provider's dashboard

    dispute = models.OneToOneField(
        Dispute, on_delete=models.PROTECT, primary_key=True, related_name="answer_sending"
    )
    next_at = models.DateTimeField(null=True)  # a worker that sends moves it ahead; null: it has ended
    sent_at = models.DateTimeField(null=True)  # when the final call last began; then it may have arrived
    ended_at = models.DateTimeField(null=True)
    result = models.CharField(max_length=9, choices=Result.choices, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    last_error = FreeTextField(max_length=200, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(result="", next_at__isnull=False, ended_at=None)
                | Q(result="not_sent", next_at=None, ended_at__isnull=False)
                | Q(result="delivered", next_at=None, ended_at__isnull=False, sent_at__isnull=False),
                name="only_sent_answers_are_delivered",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["next_at"], condition=Q(next_at__isnull=False), name="dispute_answers_due"),
        ]

    def __str__(self) -> str:
        return f"answer {self.dispute_id}"


class CaseQuery(models.Model):
    """A query to a provider about a case, or, without a number, about which cases are open. Repeated while it is open."""

    connector = models.CharField(max_length=20)
    account = models.CharField(max_length=LONGEST_ACCOUNT)
    case_number = models.CharField(max_length=LONGEST_CASE_NUMBER, blank=True)
    next_at = models.DateTimeField(null=True)  # a worker that asks moves it ahead; null: until news arrive
    answered_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)  # without an answer since the last one
    last_error = models.CharField(max_length=60, blank=True)

    class Meta:
        verbose_name_plural = "case queries"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["connector", "account", "case_number"], name="one_query_per_case"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["next_at"], condition=Q(next_at__isnull=False), name="case_queries_due"),
        ]

    def __str__(self) -> str:
        return f"{self.connector} {self.case_number}"


class DisputeReportQuerySet(models.QuerySet["DisputeReport"]):
    def unmatched(self) -> DisputeReportQuerySet:
        """Return the reports that two people have to settle. Has an index."""
        return self.filter(~Q(why=""), settled_at__isnull=True)


class DisputeReport(models.Model):
    """What an acquirer reported about a case: a row of a file, or an answer. Of equal ones, only the first is kept.

    It belongs to a dispute, or stands under "Unmatched disputes" until two people settle it.
    """

    class Why(models.TextChoices):
        """Why it belongs to no dispute. Values are stored, so they stay."""

        UNREADABLE = "unreadable"
        NO_PAYMENT = "no_payment"
        SEVERAL_PAYMENTS = "several_payments"
        AMOUNT_TOO_LARGE = "amount_too_large"  # more than was captured
        OTHER_AMOUNT = "other_amount"  # than an earlier report of the case
        CONTRADICTION = "contradiction"  # it ended otherwise here
        MATCHED = "", "matched"

    id = models.UUIDField(primary_key=True, editable=False)
    connector = models.CharField(max_length=20)
    account = models.CharField(max_length=LONGEST_ACCOUNT, blank=True)
    digest = models.CharField(max_length=64, unique=True)  # of its account and its values
    source = FreeTextField(max_length=255)  # the name of the file, or the connector
    line = models.PositiveIntegerField(null=True)
    told = models.JSONField()  # the values as they were reported, card numbers masked
    dispute = models.ForeignKey(Dispute, on_delete=models.PROTECT, null=True, related_name="reports")
    why = models.CharField(max_length=16, choices=Why.choices, blank=True)
    detail = FreeTextField(max_length=255, blank=True)  # of `why`, for people
    # Of a contradiction: what the acquirer gives back although it was booked as lost. Held in suspense while open.
    amount_in_suspense = models.BigIntegerField(default=0)
    currency = models.CharField(max_length=3, blank=True)
    settled_at = models.DateTimeField(null=True)  # by two people
    created_at = models.DateTimeField()

    objects = DisputeReportQuerySet.as_manager()

    class Meta:
        verbose_name = "unmatched dispute"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(why="", dispute__isnull=False, settled_at=None)
                | ~Q(why="") & (Q(dispute=None) | Q(why="contradiction") | Q(settled_at__isnull=False)),
                name="report_has_a_dispute_or_is_unmatched",
            ),
            models.CheckConstraint(
                condition=Q(amount_in_suspense=0) | Q(amount_in_suspense__gt=0, why="contradiction"),
                name="only_contradictions_are_in_suspense",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["id"],
                condition=~Q(why="") & Q(settled_at__isnull=True),
                name="unmatched_dispute_reports",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source}, line {self.line}" if self.line else self.source

    @property
    def is_open(self) -> bool:
        return bool(self.why) and self.settled_at is None

    @property
    def case_number(self) -> str:
        """Return the number of the case, or "" if the row can't be read."""
        return str(self.told.get("case_number", ""))
