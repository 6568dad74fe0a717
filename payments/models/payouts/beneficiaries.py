"""Saved beneficiaries: bank accounts that a business pays, with what their banks say about them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models
from django.db.models import OuterRef, Q, Subquery

from kit import banks
from kit.db.card_number_fields import FreeTextField
from merchants.models import Business
from payments.models.transactions.transactions import Transaction

VERIFIED_FOR = timedelta(days=30)


class BeneficiaryQuerySet(models.QuerySet["Beneficiary"]):
    def of(self, business: Business) -> BeneficiaryQuerySet:
        """Return the beneficiaries of a business that were not deleted."""
        return self.filter(business=business, deleted_at__isnull=True)

    def with_last_payment(self) -> BeneficiaryQuerySet:
        """Annotate `last_paid_at`: when a payout to the account succeeded last. Uses an index."""
        paid = Transaction.objects.filter(
            business=OuterRef("business"),
            account_number=OuterRef("account_number"),
            bank_code=OuterRef("bank_code"),
            request_type=Transaction.RequestType.PAYOUT,
            status=Transaction.Status.SUCCESS,
        )
        return self.annotate(last_paid_at=Subquery(paid.order_by("-id").values("finished_at")[:1]))


class Beneficiary(models.Model):
    """A bank account of a payee. Its account never changes; a deleted one is hidden and keeps its reference."""

    class Verification(models.TextChoices):
        """What the bank says about the name."""

        VERIFIED = "verified", "Verified"
        NAME_DIFFERS = "name_differs", "Name differs"
        UNVERIFIED = "unverified", "Not verified"  # the bank didn't answer, or has no such account any more

    BLOCKED = "blocked"  # the status of a blocked one, whatever the bank says

    id = models.UUIDField(primary_key=True, editable=False)  # version 7: sorts by creation
    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    reference = models.CharField(max_length=100)
    fingerprint = models.CharField(max_length=64)
    name = FreeTextField(max_length=255)
    account_number = models.CharField(max_length=10)
    bank_code = models.CharField(max_length=10)
    currency = models.CharField(max_length=3)
    email = models.CharField(max_length=254, blank=True)
    note = FreeTextField(max_length=255, blank=True)
    account_name = FreeTextField(max_length=255, blank=True)  # as the bank said
    verification = models.CharField(max_length=12, choices=Verification.choices)
    verified_at = models.DateTimeField(null=True)  # when the bank answered last
    blocked_at = models.DateTimeField(null=True)
    block_reason = FreeTextField(max_length=255, blank=True)
    is_blocked_by_staff = models.BooleanField(default=False, db_default=False)  # only staff lift it
    deleted_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    objects = BeneficiaryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "beneficiaries"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["business", "reference"], name="one_beneficiary_per_reference"),
            models.CheckConstraint(
                condition=~Q(verification="verified") | Q(verified_at__isnull=False),
                name="verified_beneficiaries_were_answered",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["business", "-id"], name="beneficiaries_newest_first"),
            models.Index(
                fields=["business", "account_number"],
                condition=Q(blocked_at__isnull=False),
                name="blocked_beneficiaries",
            ),
        ]

    def __str__(self) -> str:
        return self.reference

    @property
    def is_blocked(self) -> bool:
        return self.blocked_at is not None

    @property
    def status(self) -> str:
        return self.BLOCKED if self.is_blocked else self.verification

    @property
    def status_name(self) -> str:
        return "Blocked" if self.is_blocked else self.Verification(self.verification).label

    @property
    def bank_name(self) -> str:
        return banks.name_of(self.bank_code)

    def must_be_verified(self, *, at: datetime) -> bool:
        """Return whether its bank has not answered within the last 30 days."""
        return self.verified_at is None or self.verified_at <= at - VERIFIED_FOR
