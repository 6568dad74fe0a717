"""Settlement batches: a business's earnings in one currency on one business day, until their release to the wallet.

Amounts are minor units.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.db import models
from django.db.models import F, Q

from kit.db.card_number_fields import FreeTextField
from merchants.models import Business
from payments.models.state_errors import AlreadyTransitioned, InvalidState
from payments.models.transactions.operations import CardOperation
from payments.models.transactions.transactions import Transaction
from payments.rules.settlement.settlement_transitions import BATCH_TRANSITIONS

SettleStatus = Transaction.SettleStatus
SANDBOX = "sandbox"  # decides in the place of staff, and counts as two people


class SettlementBatchQuerySet(models.QuerySet["SettlementBatch"]):
    def of(self, business: Business) -> SettlementBatchQuerySet:
        """Return the batches of a business."""
        return self.filter(business=business)

    def updating(self) -> SettlementBatchQuerySet:
        """Return the batches whose payments don't all have their state yet."""
        return self.filter(updated_through__isnull=False)


class SettlementBatch(models.Model):
    """Payments of one business, currency and business day, with the refunds that are netted with them.

    At release, `net` is credited to the wallet. If the payments don't cover the refunds, `net` is 0 and the
    rest is carried forward into a later batch.
    """

    id = models.UUIDField(primary_key=True, editable=False)  # version 7: sorts by creation
    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    currency = models.CharField(max_length=3)
    day = models.DateField(help_text="Business day, Africa/Lagos.")
    number = models.PositiveSmallIntegerField(
        default=1
    )  # late or rejected payments get another batch of the same day
    state = models.CharField(max_length=9, choices=SettleStatus.choices, default=SettleStatus.INITIATED)
    payments_count = models.PositiveIntegerField(default=0)
    gross = models.BigIntegerField(default=0)
    fees = models.BigIntegerField(default=0)
    taxes = models.BigIntegerField(default=0, db_default=0)  # on the fees of its payments
    refunds = models.BigIntegerField(default=0)
    # Taken for disputes less what was given back: negative where more was given back.
    disputes = models.BigIntegerField(default=0, db_default=0)
    brought_forward = models.BigIntegerField(default=0)  # owed from earlier batches
    net = models.BigIntegerField(default=0)
    carried_forward = models.BigIntegerField(default=0)  # owed after this one
    reserved = models.BigIntegerField(default=0, db_default=0)  # of the net, held back at the release
    carried_into = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, related_name="brought", db_index=False
    )
    # Whether its money had to arrive before it was approved, what of it hadn't, and the two people who approved it all the
    # same (`payments.services.settlement.batches.batch_funds`).
    funds_required = models.BooleanField(default=False, db_default=False)
    unfunded = models.BigIntegerField(default=0, db_default=0)
    unfunded_by = models.CharField(max_length=254, blank=True, default="", db_default="")
    unfunded_confirmed_by = models.CharField(max_length=254, blank=True, default="", db_default="")
    reason = FreeTextField(max_length=255, blank=True)  # of the last decision
    created_at = models.DateTimeField()
    # The id of the last item whose payment has the batch's state; null if all have. The first chunk changes with the
    # batch, so a batch that fits into one is never here.
    updated_through = models.BigIntegerField(null=True, editable=False)

    objects = SettlementBatchQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "settlement batches"
        permissions: ClassVar = [("decide_settlementbatch", "Can approve, release and reject batches")]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["business", "currency", "day", "number"], name="one_batch_per_day_and_number"
            ),
            models.UniqueConstraint(
                fields=["business", "currency"], condition=Q(state="initiated"), name="one_batch_being_built"
            ),
            models.CheckConstraint(condition=Q(state__in=SettleStatus.values), name="known_batch_state"),
            models.CheckConstraint(
                condition=Q(gross__gte=0, refunds__gte=0, brought_forward__gte=0),
                name="batch_parts_are_not_negative",
            ),
            models.CheckConstraint(condition=Q(taxes__gte=0), name="batch_taxes_are_not_negative"),
            models.CheckConstraint(
                condition=Q(
                    gross=F("net")
                    + F("fees")
                    + F("taxes")
                    + F("refunds")
                    + F("disputes")
                    + F("brought_forward")
                    - F("carried_forward")
                ),
                name="batch_adds_up",
            ),
            models.CheckConstraint(
                condition=Q(net__gte=0, carried_forward=0) | Q(net=0, carried_forward__gt=0),
                name="batch_pays_or_carries",
            ),
            models.CheckConstraint(
                condition=Q(reserved=0) | Q(state="released", reserved__gt=0, reserved__lte=F("net")),
                name="released_batches_are_reserved",
            ),
            models.CheckConstraint(
                condition=Q(unfunded=0, unfunded_by="", unfunded_confirmed_by="")
                | Q(funds_required=True, unfunded__gt=0)
                & ~Q(unfunded_by="")
                & ~Q(unfunded_confirmed_by="")
                & (~Q(unfunded_by=F("unfunded_confirmed_by")) | Q(unfunded_by=SANDBOX)),
                name="unfunded_batches_have_two_names",
            ),
            models.CheckConstraint(
                condition=Q(carried_into__isnull=True) | Q(state="released", carried_forward__gt=0),
                name="released_debts_are_carried",
            ),
        ]
        # For staff, who list the batches of all businesses by day.
        indexes: ClassVar = [
            models.Index(fields=["day", "id"], name="batches_by_day"),
            models.Index(fields=["state", "day", "id"], name="batches_by_state_and_day"),
            models.Index(
                fields=["id"], condition=Q(updated_through__isnull=False), name="batches_being_updated"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.currency} of {self.day:%-d %b %Y}, no. {self.number}"

    @property
    def carried(self) -> int:
        """Return what is carried into a later batch, less what earlier ones left to this one."""
        return int(self.carried_forward - self.brought_forward)

    @property
    def is_updating(self) -> bool:
        """Return whether some of its payments don't have its state yet."""
        return self.updated_through is not None

    @property
    def released_at(self) -> datetime | None:
        """Return when `net` was credited to the wallet. Lists prefetch `SHOWN_WITH`."""
        released = [one.at for one in self.transitions.all() if one.after == SettleStatus.RELEASED]
        return released[0] if released else None

    @property
    def payout_reference(self) -> str:
        """Return the reference of the payout that paid its net to the settlement account. Lists prefetch `SHOWN_WITH`."""
        live = [one.payout.payout.reference for one in self.payouts.all() if one.is_live]
        return live[0] if live else ""

    def set_totals(
        self,
        *,
        payments_count: int,
        gross: int,
        fees: int,
        refunds: int,
        taxes: int = 0,
        disputes: int = 0,
        brought_forward: int = 0,
    ) -> None:
        self.payments_count, self.gross, self.fees, self.refunds = payments_count, gross, fees, refunds
        self.taxes, self.disputes, self.brought_forward = taxes, disputes, brought_forward
        left = gross - fees - taxes - refunds - disputes - brought_forward
        self.net, self.carried_forward = max(left, 0), max(-left, 0)
        self.save(update_fields=TOTALS)

    def transition_to(self, to: SettleStatus, *, actor: str, reason: str = "", now: datetime) -> None:
        """Change the batch's state and log the transition. Its payments are not changed.

        :raises InvalidState: the state machine doesn't allow the transition
        :raises AlreadyTransitioned: the batch was changed concurrently
        """
        before = SettleStatus(self.state)
        if to not in BATCH_TRANSITIONS[before]:
            raise InvalidState(f"A batch that is {before} cannot become {to}.")
        if not SettlementBatch.objects.filter(pk=self.pk, state=before).update(state=to, reason=reason):
            raise AlreadyTransitioned
        self.state, self.reason = to, reason
        BatchTransition.objects.create(
            batch=self, before=before, after=to, actor=actor, reason=reason, at=now
        )


# What `released_at` and `payout_reference` read.
SHOWN_WITH = ("transitions", "payouts__payout__payout")
TOTALS = (
    "payments_count",
    "gross",
    "fees",
    "taxes",
    "refunds",
    "disputes",
    "brought_forward",
    "net",
    "carried_forward",
)


class SettlementItem(models.Model):
    """A payment in a batch, or a refund or step of a dispute netted in it. `is_live`: the batch isn't rejected."""

    batch = models.ForeignKey(SettlementBatch, on_delete=models.PROTECT, related_name="items", db_index=False)
    transaction = models.ForeignKey(Transaction, on_delete=models.PROTECT, related_name="+", db_index=False)
    operation = models.ForeignKey(
        CardOperation, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )  # the refund; a payment's own item has none
    dispute_step = models.ForeignKey(
        "disputes.DisputeStep",
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )  # the step of a dispute that moved money
    gross = models.BigIntegerField(default=0)
    fee = models.BigIntegerField(default=0)
    fee_tax = models.BigIntegerField(default=0, db_default=0)
    refunded = models.BigIntegerField(default=0)
    disputed = models.BigIntegerField(default=0, db_default=0)  # taken; negative: given back
    is_live = models.BooleanField(default=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["transaction"],
                condition=Q(is_live=True, operation__isnull=True, dispute_step__isnull=True),
                name="own_item_in_one_live_batch",
            ),
            models.UniqueConstraint(
                fields=["operation"],
                condition=Q(is_live=True, operation__isnull=False),
                name="refund_in_one_live_batch",
            ),
            models.UniqueConstraint(
                fields=["dispute_step"],
                condition=Q(is_live=True, dispute_step__isnull=False),
                name="dispute_step_in_one_live_batch",
            ),
            models.CheckConstraint(
                condition=Q(
                    operation=None, dispute_step=None, gross__gt=0, fee__gte=0, refunded=0, disputed=0
                )
                | Q(operation__isnull=False, dispute_step=None, gross=0, fee=0, refunded__gt=0, disputed=0)
                | Q(operation=None, dispute_step__isnull=False, gross=0, refunded=0)
                & (~Q(fee=0) | ~Q(disputed=0)),
                name="item_is_a_payment_refund_or_dispute",
            ),
            models.CheckConstraint(
                condition=Q(fee_tax=0) | Q(fee_tax__gt=0, operation=None, dispute_step=None),
                name="only_payments_of_batches_are_taxed",
            ),
        ]
        # A batch's items in chunks and pages, without sorting all of them.
        indexes: ClassVar = [models.Index(fields=["batch", "id"], name="items_of_a_batch")]

    def __str__(self) -> str:
        return f"{self.kind} {self.transaction_id}"

    @property
    def kind(self) -> str:
        if self.dispute_step_id is not None:
            return "dispute"
        return "payment" if self.operation_id is None else "refund"

    @property
    def net(self) -> int:
        return self.gross - self.fee - self.fee_tax - self.refunded - self.disputed


def dispute_steps() -> models.QuerySet[Any]:
    """Return the steps of disputes. Their app is above this one: its model is known by the foreign key."""
    field: Any = SettlementItem.dispute_step
    steps: models.QuerySet[Any] = field.field.related_model.objects.all()
    return steps


class BatchTransition(models.Model):
    """A state transition of a batch. Append-only."""

    batch = models.ForeignKey(SettlementBatch, on_delete=models.PROTECT, related_name="transitions")
    before = models.CharField(max_length=9, blank=True)
    after = models.CharField(max_length=9)
    actor = models.CharField(max_length=254, help_text="An e-mail address, or the command that acted.")
    reason = FreeTextField(max_length=255, blank=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.before} → {self.after}"
