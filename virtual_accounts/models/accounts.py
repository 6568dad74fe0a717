"""Virtual accounts."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import ClassVar

from django.db import models
from django.db.models import Case, F, OuterRef, Q, Subquery, Value, When

from kit.db.card_number_fields import FreeTextField, FreeTextJSONField
from kit.db.encrypted_field import EncryptedTextField
from merchants.models import Business

LONGEST_PROVIDER_ACCOUNT = 100  # characters


class VirtualAccountQuerySet(models.QuerySet["VirtualAccount"]):
    def of(self, business: Business) -> VirtualAccountQuerySet:
        """Return a business's own accounts. Other businesses' accounts are not found."""
        return self.filter(business=business)

    def with_current_number(self) -> VirtualAccountQuerySet:
        """Load each account's `current_number` with its row, to avoid a query per row."""
        numbers = VirtualAccount._meta.get_field("numbers").related_model
        held = numbers._default_manager.filter(holder=OuterRef("pk")).values("number")
        current_number = Case(
            When(type=VirtualAccount.Type.STATIC, then=F("account_number")),
            When(held__isnull=False, another_held__isnull=True, then=F("held")),
            default=Value(""),
        )
        accounts: VirtualAccountQuerySet = self.alias(
            held=Subquery(held[:1]), another_held=Subquery(held[1:2])
        )
        # Unpacked, because the type checker would see a keyword as a second declaration of the property.
        return accounts.annotate(**{"current_number": current_number})  # noqa: PIE804


class VirtualAccount(models.Model):
    """A virtual account: static for one customer with a permanent number, or dynamic for single payments."""

    class Type(models.TextChoices):
        STATIC = "static"  # one customer, one permanent number
        DYNAMIC = "dynamic"  # a new number for each payment

    class AccountType(models.TextChoices):
        INDIVIDUAL = "individual"
        BUSINESS = "business"

    class Status(models.TextChoices):
        ACTIVE = "active"
        INACTIVE = "inactive"  # opens no session; incoming money is unapplied

    class Opening(models.TextChoices):
        """How far a provider that chooses the numbers itself has opened a static account. It has no number before that."""

        DONE = "", "opened"  # also of accounts whose numbers come from the pool
        PENDING = "pending"  # the provider is asked until it answers
        FAILED = "failed"  # the provider refuses the customer; final

    id = models.UUIDField(primary_key=True, editable=False)  # version 7: sorts by creation
    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    reference = models.CharField(max_length=100)
    fingerprint = models.CharField(max_length=64)  # keyed hash of the request, for idempotency
    type = models.CharField(max_length=7, choices=Type.choices)
    account_type = models.CharField(max_length=10, choices=AccountType.choices)
    currency = models.CharField(max_length=3)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.ACTIVE)
    account_number = models.CharField(max_length=10, blank=True)  # permanent if static, null if dynamic
    opening = models.CharField(
        max_length=7, choices=Opening.choices, blank=True, default=Opening.DONE, db_default=""
    )
    # Our account at the provider that opens it, such as `paystack:100032`. Empty if numbers come from the pool.
    provider_account = models.CharField(
        max_length=LONGEST_PROVIDER_ACCOUNT, blank=True, default="", db_default=""
    )
    bank_code = models.CharField(max_length=6, blank=True)  # empty if we don't know the provider's bank
    bank_name = models.CharField(max_length=100)

    first_name = FreeTextField(max_length=100, blank=True)
    middle_name = FreeTextField(max_length=100, blank=True)
    last_name = FreeTextField(max_length=100, blank=True)
    business_name = FreeTextField(max_length=200, blank=True)
    email = models.CharField(max_length=254)
    phone_number = models.CharField(max_length=11, blank=True)
    date_of_birth = models.DateField(null=True, blank=True)
    gender = models.CharField(max_length=6, blank=True)
    address = FreeTextJSONField(default=dict)
    metadata = models.JSONField(null=True, blank=True)  # keys chosen by the merchant; null if none were sent
    bvn = EncryptedTextField(null=True, blank=True)
    bvn_hash = models.CharField(
        max_length=64, blank=True
    )  # keyed hash, to find other accounts of the same person
    bvn_last4 = models.CharField("last digits of the BVN", max_length=4, blank=True)

    created_at = models.DateTimeField()
    deactivated_at = models.DateTimeField(null=True, blank=True)

    objects = VirtualAccountQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["business", "reference"], name="one_account_per_reference"),
            models.UniqueConstraint(
                fields=["account_number"], condition=~Q(account_number=""), name="one_account_per_number"
            ),
            models.CheckConstraint(
                condition=Q(type="static", opening="") & ~Q(account_number="")
                | Q(type="static", opening__in=["pending", "failed"], account_number="", status="inactive")
                | Q(type="dynamic", opening="", account_number=""),
                name="only_static_accounts_have_numbers",
            ),
            models.CheckConstraint(
                condition=Q(account_type="individual") | Q(account_type="business", type="static"),
                name="business_accounts_are_static",
            ),
            models.CheckConstraint(
                condition=Q(status="active", deactivated_at__isnull=True)
                | Q(status="inactive", deactivated_at__isnull=False)
                | Q(status="inactive") & ~Q(opening=""),
                name="only_inactive_accounts_have_deactivated_at",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["business", "-id"], name="accounts_newest_first"),
            models.Index(fields=["business", "status", "-id"], name="accounts_by_status"),
            models.Index(fields=["bvn_hash"], condition=~Q(bvn_hash=""), name="accounts_by_bvn"),
        ]

    def __str__(self) -> str:
        return self.reference

    def deactivate(self, *, now: datetime) -> None:
        self.status, self.deactivated_at = self.Status.INACTIVE, now
        self.save(update_fields=["status", "deactivated_at"])

    def activate(self) -> None:
        """Activate it, or let it be active once it has a number."""
        self.deactivated_at = None
        self.status = self.Status.ACTIVE if self.is_opened else self.Status.INACTIVE
        self.save(update_fields=["status", "deactivated_at"])

    def finish_opening(self, *, number: str, bank_code: str, bank_name: str) -> None:
        """Store the number that the provider chose. The account is active unless it was deactivated meanwhile."""
        self.account_number = self.current_number = number
        self.bank_code, self.bank_name, self.opening = bank_code, bank_name, self.Opening.DONE
        if self.deactivated_at is None:
            self.status = self.Status.ACTIVE
        self.save(update_fields=["account_number", "bank_code", "bank_name", "opening", "status"])

    def fail_opening(self) -> None:
        self.opening = self.Opening.FAILED
        self.save(update_fields=["opening"])

    @property
    def is_static(self) -> bool:
        return self.type == self.Type.STATIC

    @property
    def is_opening(self) -> bool:
        return self.opening == self.Opening.PENDING

    @property
    def is_opened(self) -> bool:
        return self.opening == self.Opening.DONE

    @property
    def is_active(self) -> bool:
        return self.status == self.Status.ACTIVE

    @cached_property
    def current_number(self) -> str:
        """The number that currently receives transfers.

        A static account has a permanent number. A dynamic account has the number of its open session, or none if no
        session or several sessions are open, because each payment has its own number.
        """
        if self.is_static:
            return self.account_number
        held = list(self.numbers.values_list("number", flat=True)[:2])
        return held[0] if len(held) == 1 else ""

    @property
    def holder_name(self) -> str:
        """The name on the account."""
        if self.account_type == self.AccountType.BUSINESS:
            return self.business_name
        return " ".join(name for name in (self.first_name, self.middle_name, self.last_name) if name)
