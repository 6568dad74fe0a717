"""Reserves: what is held back from released settlements of a business, and returned to its wallet later.

Amounts are minor units.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q

from kit.money.money import has_minor_unit
from merchants.models import Business
from payments.models.settlement.batches import SettlementBatch

WHOLE = 10_000  # basis points


class RiskTerms(models.Model):
    """What is held back from a business's settlements in one currency, and how far it may owe. Append-only.

    The latest row of a business and currency applies. Without one, nothing is held back and debts are unlimited.
    """

    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    currency = models.CharField(max_length=3, help_text="ISO 4217.")
    reserve_basis_points = models.PositiveIntegerField(
        default=0, help_text="Held back from each settlement: 1000 is 10 % of its net."
    )
    reserve_days = models.PositiveIntegerField(default=0, help_text="Days until that part is returned.")
    reserve_fixed = models.PositiveBigIntegerField(
        default=0,
        help_text="Held back until this much is in the reserve, and kept until a lower amount is agreed.",
    )
    negative_limit = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        help_text="Card refunds may take wallet, pending and reserve together this far below 0.",
    )
    valid_from = models.DateTimeField()
    agreed_by = models.CharField(max_length=254, help_text="Who entered it.")

    class Meta:
        verbose_name = verbose_name_plural = "risk terms"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(reserve_basis_points__lte=WHOLE), name="reserve_is_part_of_the_net"
            ),
            models.CheckConstraint(
                condition=Q(reserve_basis_points=0) | Q(reserve_days__gt=0), name="reserve_parts_are_returned"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["business", "currency", "-id"], name="risk_terms_latest_first")
        ]

    def __str__(self) -> str:
        return f"risk terms {self.currency} of {self.business}"

    def share_of(self, net: int) -> int:
        """Return the rate's part of a net, rounded down."""
        return net * self.reserve_basis_points // WHOLE

    def returns_at(self, held_at: datetime) -> datetime:
        """Return when that part is returned."""
        return held_at + timedelta(days=self.reserve_days)

    def clean(self) -> None:
        if not has_minor_unit(self.currency):
            raise ValidationError({"currency": "Enter an ISO 4217 currency such as NGN."})
        if self.reserve_basis_points > WHOLE:
            raise ValidationError({"reserve_basis_points": f"Enter at most {WHOLE}."})
        if bool(self.reserve_basis_points) != bool(self.reserve_days):
            raise ValidationError({"reserve_days": "Enter both basis points and days, or neither."})
        if self.reserve_days > MAX_DAYS:
            raise ValidationError({"reserve_days": f"Enter at most {MAX_DAYS}."})


MAX_DAYS = 3_650


class ReserveHoldQuerySet(models.QuerySet["ReserveHold"]):
    def of(self, business: Business) -> ReserveHoldQuerySet:
        """Return the holds of a business."""
        return self.filter(business=business)

    def open(self) -> ReserveHoldQuerySet:
        """Return the holds that have something left to return."""
        return self.filter(left__gt=0)

    def due(self, *, at: datetime) -> ReserveHoldQuerySet:
        """Return the open holds whose days are over."""
        return self.open().filter(returns_at__lte=at)


class ReserveHold(models.Model):
    """A part of a released settlement that is held in reserve: the rate's, or the fixed amount's without a date."""

    id = models.UUIDField(primary_key=True, editable=False)  # version 7: sorts by creation
    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    currency = models.CharField(max_length=3)
    batch = models.ForeignKey(SettlementBatch, on_delete=models.PROTECT, related_name="holds")
    amount = models.BigIntegerField()
    left = models.BigIntegerField(help_text="Not returned yet.")
    returns_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    objects = ReserveHoldQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(amount__gt=0, left__gte=0, left__lte=F("amount")),
                name="reserve_returns_what_it_held",
            ),
            models.UniqueConstraint(
                fields=["batch"], condition=Q(returns_at__isnull=False), name="one_rate_hold_per_batch"
            ),
            models.UniqueConstraint(
                fields=["batch"], condition=Q(returns_at__isnull=True), name="one_fixed_hold_per_batch"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["returns_at"], condition=Q(left__gt=0), name="open_holds_by_return"),
            models.Index(
                fields=["business", "currency", "returns_at"],
                condition=Q(left__gt=0),
                name="open_holds_of_business",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.currency} held of {self.batch_id}"


class ReserveReturn(models.Model):
    """A return of a hold, or a part of it, to the wallet. Append-only."""

    class Reason(models.TextChoices):
        DUE = "due"  # its days were over, or a lower fixed amount was agreed
        COLLECTED = "collected"  # staff set it off against what the business owed

    id = models.UUIDField(primary_key=True, editable=False)  # version 7: sorts by creation
    hold = models.ForeignKey(ReserveHold, on_delete=models.PROTECT, related_name="returns")
    amount = models.BigIntegerField()
    reason = models.CharField(max_length=9, choices=Reason.choices)
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="reserve_returns_something"),
            models.CheckConstraint(
                condition=Q(reason__in=["due", "collected"]), name="known_reason_of_reserve_return"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.reason} return of {self.hold_id}"
