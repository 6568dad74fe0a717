"""Payout batches and their items, and the leases of the work on them."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models
from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce

from kit import banks
from kit.db.card_number_fields import FreeTextField
from kit.db.prepared_statements import insert_if_absent
from merchants.models import ApiKey, Business, User
from payments.models import Beneficiary, PayoutApproval, PayoutServerQuestion, Transaction
from payout_batches.transitions import BATCH_NAMES, ITEM_NAMES

MOST_ITEMS = 1_000


class PayoutBatchQuerySet(models.QuerySet["PayoutBatch"]):
    def of(self, business: Business) -> PayoutBatchQuerySet:
        """Return the batches of a business. Those of others are treated as missing."""
        return self.filter(business=business)


class PayoutBatch(models.Model):
    """Payouts that are checked, approved and sent together. Amounts are minor units."""

    class Status(models.TextChoices):
        CHECKING = "checking"  # accounts are compared with their banks
        NEEDS_CORRECTION = "needs_correction"  # some items need a decision
        READY = "ready"
        AWAITING_APPROVAL = "awaiting_approval"  # by other members of the business
        SCHEDULED = "scheduled"  # approved, for later
        PROCESSING = "processing"
        COMPLETED = "completed"  # each item is final
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, editable=False)  # version 7: sorts by creation
    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    reference = models.CharField(max_length=100)
    fingerprint = models.CharField(max_length=64)
    title = FreeTextField(max_length=80)
    currency = models.CharField(max_length=3)
    status = models.CharField(max_length=17, choices=Status.choices, default=Status.CHECKING)
    item_count = models.PositiveSmallIntegerField()
    amount = models.BigIntegerField()  # sum of the items
    fees = models.BigIntegerField()  # if every item is paid
    taxes = models.BigIntegerField(default=0, db_default=0)  # on these fees, and stamp duty
    run_at = models.DateTimeField(null=True)
    as_far_as_balance = models.BooleanField(default=False)  # approved although the balance is too low
    # The batch that it repeats the failed items of, and the first one of its family.
    retry_of = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="retries")
    root_reference = models.CharField(max_length=100)
    created_by = models.CharField(max_length=254)
    # Who made it and may not approve it (`payments.services.payouts.controls.makers`).
    maker = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    key = models.ForeignKey(ApiKey, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    # Where the business wants them: the approval by other members, and the question to its server.
    approval = models.OneToOneField(PayoutApproval, on_delete=models.PROTECT, null=True, related_name="batch")
    server_question = models.OneToOneField(
        PayoutServerQuestion, on_delete=models.PROTECT, null=True, related_name="batch"
    )
    created_at = models.DateTimeField()
    checked_at = models.DateTimeField(null=True)  # the last time that every account was looked up
    released_by = models.CharField(max_length=254, blank=True)
    released_at = models.DateTimeField(null=True)  # the approval: nothing is sent without it
    started_at = models.DateTimeField(null=True)
    cancelled_by = models.CharField(max_length=254, blank=True)
    cancelled_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    # While it processes: what it waits for, until when, and since when it has no money.
    waits_for = FreeTextField(max_length=255, blank=True)
    next_attempt_at = models.DateTimeField(null=True)
    held_since = models.DateTimeField(null=True)

    objects = PayoutBatchQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "payout batches"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["business", "reference"], name="one_batch_per_reference"),
            models.CheckConstraint(
                condition=Q(item_count__gte=1, item_count__lte=MOST_ITEMS),
                name="batches_have_1_to_1000_items",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=["scheduled", "processing", "completed"])
                | Q(released_at__isnull=False),
                name="sent_batches_were_approved",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["completed", "cancelled"], finished_at__isnull=False)
                | ~Q(status__in=["completed", "cancelled"]) & Q(finished_at__isnull=True),
                name="only_ended_batches_have_finished_at",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["business", "-id"], name="payout_batches_newest_first"),
            models.Index(
                fields=["status", "next_attempt_at"],
                condition=Q(status__in=["checking", "scheduled", "processing"]),
                name="payout_batches_with_work",
            ),
            models.Index(fields=["business", "root_reference"], name="payout_batches_of_family"),
        ]

    def __str__(self) -> str:
        return self.reference

    @property
    def status_name(self) -> str:
        return BATCH_NAMES[self.status]

    @property
    def is_open(self) -> bool:
        """Return whether it may still change or be cancelled as a whole."""
        return self.status not in {self.Status.PROCESSING, self.Status.COMPLETED, self.Status.CANCELLED}


STATE = Coalesce("payout__status", "state")  # of an item as merchants see it


class PayoutBatchItemQuerySet(models.QuerySet["PayoutBatchItem"]):
    def unsent(self) -> PayoutBatchItemQuerySet:
        """Return the items that can still be sent."""
        return self.exclude(state__in=PayoutBatchItem.ENDED)

    def kept(self) -> PayoutBatchItemQuerySet:
        """Return the items that will be or were sent: those that were neither removed nor cancelled."""
        return self.exclude(state=PayoutBatchItem.State.CANCELLED)

    def undecided(self) -> PayoutBatchItemQuerySet:
        """Return the checked items that need a decision."""
        ended = [*PayoutBatchItem.ENDED, PayoutBatchItem.State.CHECKING, PayoutBatchItem.State.OK]
        return self.exclude(state__in=ended).filter(accepted_at__isnull=True)

    def failed(self) -> PayoutBatchItemQuerySet:
        """Return the items whose payout failed, or that could not become one."""
        of_payouts = Q(payout__status=Transaction.Status.FAILED)
        return self.filter(Q(state=PayoutBatchItem.State.FAILED) | of_payouts)

    def totals(self) -> list[tuple[str, int, int]]:
        """Return each state that merchants see, with the number of items and their sum."""
        rows = self.order_by().annotate(shown=STATE).values_list("shown")
        return [(state, count, total) for state, count, total in rows.annotate(Count("pk"), Sum("amount"))]


class PayoutBatchItem(models.Model):
    """A payout of a batch: what is asked for, what the checks found, and the payout once it is sent."""

    class State(models.TextChoices):
        CHECKING = "checking"
        OK = "ok"
        NAME_DIFFERS = "name_differs"
        UNVERIFIED = "unverified"  # the bank didn't answer
        UNKNOWN_ACCOUNT = "unknown_account"
        DUPLICATE = "duplicate"
        OVER_LIMIT = "over_limit"
        HELD = "held"  # waits for money, or for a limit
        CANCELLED = "cancelled"
        FAILED = "failed"  # could not become a payout
        SENT = "sent"  # the state is the payout's

    ENDED = (State.CANCELLED, State.FAILED, State.SENT)

    id = models.UUIDField(primary_key=True, editable=False)
    batch = models.ForeignKey(PayoutBatch, on_delete=models.PROTECT, related_name="items", db_index=False)
    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    position = models.PositiveSmallIntegerField()  # in the file, from 0
    reference = models.CharField(max_length=100)
    root_reference = models.CharField(max_length=100)  # before retries
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    name = FreeTextField(max_length=255)
    account_number = models.CharField(max_length=10)
    bank_code = models.CharField(max_length=10)
    email = models.CharField(max_length=254, blank=True)
    customer_reference = models.CharField(max_length=100, blank=True)
    beneficiary = models.ForeignKey(Beneficiary, on_delete=models.PROTECT, null=True, related_name="+")
    narration = FreeTextField(max_length=255, blank=True)
    purpose = models.CharField(
        max_length=8, choices=Transaction.Purpose.choices, blank=True, default="", db_default=""
    )
    metadata = models.JSONField(null=True, blank=True)
    state = models.CharField(max_length=15, choices=State.choices, default=State.CHECKING)
    # What the checks found.
    account_name = FreeTextField(max_length=255, blank=True)  # as the bank said
    duplicate_of = models.CharField(max_length=100, blank=True)
    problem = FreeTextField(max_length=255, blank=True)
    # Why it is paid although the checks found something.
    accepted_reason = FreeTextField(max_length=255, blank=True)
    accepted_by = models.CharField(max_length=254, blank=True)
    accepted_at = models.DateTimeField(null=True)
    # Who changed its account, and so may not approve the batch; and the first number that it had.
    corrected_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    former_account_number = models.CharField(max_length=10, blank=True, default="", db_default="")
    payout = models.OneToOneField(
        Transaction, on_delete=models.PROTECT, null=True, related_name="batch_item", db_constraint=False
    )
    retried_as = models.OneToOneField("self", on_delete=models.PROTECT, null=True, related_name="retry_of")

    objects = PayoutBatchItemQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["batch", "position"], name="one_item_per_position"),
            models.UniqueConstraint(fields=["business", "reference"], name="one_item_per_reference"),
            models.CheckConstraint(condition=Q(amount__gt=0), name="batch_item_amount_is_positive"),
            models.CheckConstraint(
                condition=Q(state="sent", payout__isnull=False) | ~Q(state="sent") & Q(payout__isnull=True),
                name="only_sent_items_have_payouts",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["position"], condition=Q(state="checking"), name="batch_items_to_check"),
        ]

    def __str__(self) -> str:
        return self.reference

    @property
    def status(self) -> str:
        return self.payout.status if self.payout is not None else self.state

    @property
    def status_name(self) -> str:
        return ITEM_NAMES[self.status]

    @property
    def outcome_text(self) -> str:
        """Return why its payout failed, or what is wrong with the item; an empty string if nothing is."""
        if self.payout is None:
            return self.problem
        return self.payout.reason_text if self.payout.status == Transaction.Status.FAILED else ""

    @property
    def bank_name(self) -> str:
        return banks.name_of(self.bank_code)

    @property
    def needs_decision(self) -> bool:
        ended = {*self.ENDED, self.State.CHECKING, self.State.OK, self.State.HELD}
        return self.accepted_at is None and self.state not in ended


class WorkLease(models.Model):
    """Work that only one process may do at a time: name enquiries at a connector, payouts of a business."""

    name = models.CharField(max_length=80, primary_key=True)
    token = models.UUIDField()
    leased_until = models.DateTimeField()

    def __str__(self) -> str:
        return self.name

    @classmethod
    def acquire(cls, name: str, *, lasts: timedelta, now: datetime) -> uuid.UUID | None:
        """Return a token if the lease is free, or None. One conditional statement decides."""
        token = uuid.uuid4()
        free = cls.objects.filter(pk=name, leased_until__lte=now)
        if free.update(token=token, leased_until=now + lasts):
            return token
        is_new = insert_if_absent(cls(name=name, token=token, leased_until=now + lasts))
        return token if is_new else None

    @classmethod
    def renew(cls, name: str, token: uuid.UUID, *, lasts: timedelta, now: datetime) -> bool:
        """Extend a lease that is still held. Return False if another process has taken it."""
        return bool(cls.objects.filter(pk=name, token=token).update(leased_until=now + lasts))

    @classmethod
    def release(cls, name: str, token: uuid.UUID, *, now: datetime) -> None:
        cls.objects.filter(pk=name, token=token).update(leased_until=now)
