"""Payment links and the checkouts that payers open at them.

A link counts its uses: those held by pending payments and those paid. `payments.services.links.link_uses` changes the
counts, in the database transactions that open and finish the payments.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from kit.db.card_number_fields import FreeTextField, FreeTextJSONField
from kit.money.money import money
from merchants.businesses.minimum_amounts import smallest_payment
from merchants.models import Business
from virtual_accounts.models import VirtualAccount

SLUG_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # without i, l, o and u, which are read wrong
SLUG_LENGTH = 12  # 60 random bits
CHECKOUT_LIFETIME = timedelta(hours=24)
MOST_ATTEMPTS = 5


def new_slug() -> str:
    """Return the random end of a link's address. It can't be guessed."""
    return "".join(secrets.choice(SLUG_ALPHABET) for _ in range(SLUG_LENGTH))


def new_checkout_token() -> str:
    """Return 192 random bits: the credential of one payer."""
    return secrets.token_urlsafe(24)


class PaymentLinkQuerySet(models.QuerySet["PaymentLink"]):
    def of(self, business: Business) -> PaymentLinkQuerySet:
        """Return the links of a business. Those of others are treated as missing."""
        return self.filter(business=business)

    def in_status(self, status: str, *, at: datetime) -> PaymentLinkQuerySet:
        """Return the links in a status, which is derived: the first of `PaymentLink.status_at` that holds."""
        is_used_up = Q(max_uses__isnull=False, uses_paid__gte=F("max_uses"))
        is_off = Q(is_switched_off=True) | Q(blocked_at__isnull=False) | Q(business__is_active=False)
        is_over = Q(expires_at__isnull=False, expires_at__lte=at)
        conditions = {
            PaymentLink.Status.USED_UP: is_used_up,
            PaymentLink.Status.INACTIVE: ~is_used_up & is_off,
            PaymentLink.Status.EXPIRED: ~is_used_up & ~is_off & is_over,
            PaymentLink.Status.ACTIVE: ~is_used_up & ~is_off & ~is_over,
        }
        return self.filter(conditions[PaymentLink.Status(status)])


class PaymentLink(models.Model):
    """A merchant's offer: what is paid for, how much, how often and until when. Amounts are minor units."""

    class Status(models.TextChoices):
        ACTIVE = "active"  # payers may begin to pay
        USED_UP = "used_up"  # all uses are paid
        INACTIVE = "inactive"  # switched off, blocked, or the business is inactive
        EXPIRED = "expired"

    id = models.UUIDField(primary_key=True, editable=False)  # version 7: sorts by creation
    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    reference = models.CharField(max_length=100)
    fingerprint = models.CharField(max_length=64)  # keyed hash of the request, for idempotency
    slug = models.CharField(max_length=40, unique=True)
    has_chosen_slug = models.BooleanField(default=False)

    title = FreeTextField(max_length=80)
    description = FreeTextField(max_length=500, blank=True)
    currency = models.CharField(max_length=3)
    amount = models.BigIntegerField(null=True, blank=True)  # of one unit; null: the payer chooses
    amount_min = models.BigIntegerField(null=True, blank=True)
    amount_max = models.BigIntegerField(null=True, blank=True)
    suggested_amounts = models.JSONField(default=list, blank=True)
    quantity_max = models.PositiveSmallIntegerField(default=1)

    payment_methods = models.JSONField(default=list)  # in the order of the page
    account = models.ForeignKey(  # chosen by the merchant; null: the business's account for links
        VirtualAccount, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    transfer_window = models.PositiveIntegerField()  # seconds
    max_uses = models.PositiveIntegerField(null=True, blank=True)  # null: no limit
    expires_at = models.DateTimeField(null=True, blank=True)
    redirect_url = models.CharField("redirect URL", max_length=2048, blank=True)

    customer_reference = models.CharField(max_length=100, blank=True)
    customer_email = models.CharField(max_length=254, blank=True)
    customer_name = FreeTextField(max_length=255, blank=True)
    collect = models.JSONField(default=dict)  # name, email, phone: required, optional or no
    custom_fields = FreeTextJSONField(default=list, blank=True)  # key, label, required
    success_message = FreeTextField(max_length=300, blank=True)
    support_contact = FreeTextField(max_length=100, blank=True)

    is_switched_off = models.BooleanField(default=False)
    blocked_at = models.DateTimeField(null=True, blank=True)  # by the operator
    block_reason = FreeTextField(max_length=255, blank=True)

    uses_held = models.IntegerField(default=0)  # by pending payments
    uses_paid = models.IntegerField(default=0)
    amount_paid = models.BigIntegerField(default=0)  # refunds are not deducted

    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = PaymentLinkQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["business", "reference"], name="one_link_per_reference"),
            # No lower bounds: a count set wrong must not keep a payment from finishing (`recount_links`).
            models.CheckConstraint(
                condition=Q(max_uses__isnull=True) | Q(max_uses__gte=F("uses_paid") + F("uses_held")),
                name="uses_within_limit",
            ),
            models.CheckConstraint(
                condition=Q(
                    amount__isnull=False, amount__gt=0, amount_min__isnull=True, amount_max__isnull=True
                )
                | Q(
                    amount__isnull=True,
                    amount_min__isnull=False,
                    amount_max__isnull=False,
                    amount_min__gt=0,
                    amount_max__gte=F("amount_min"),
                    quantity_max=1,
                ),
                name="one_amount_or_a_range",
            ),
            models.CheckConstraint(
                condition=Q(quantity_max__gte=1, quantity_max__lte=100), name="quantity_is_bounded"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["business", "-id"], name="links_newest_first")]

    def __str__(self) -> str:
        return self.reference

    def status_at(self, now: datetime) -> Status:
        """Return the link's status, the first that holds."""
        if self.max_uses is not None and self.uses_paid >= self.max_uses:
            return self.Status.USED_UP
        if self.is_switched_off or self.blocked_at is not None or not self.business.is_active:
            return self.Status.INACTIVE
        if self.expires_at is not None and self.expires_at <= now:
            return self.Status.EXPIRED
        return self.Status.ACTIVE

    @property
    def url(self) -> str:
        return f"{settings.PUBLIC_URL}/l/{self.slug}"

    @property
    def uses_left(self) -> int | None:
        """Return the uses that are neither paid nor held; None without a limit."""
        return None if self.max_uses is None else self.max_uses - self.uses_paid - self.uses_held

    @property
    def has_fixed_amount(self) -> bool:
        return self.amount is not None

    @property
    def amount_text(self) -> str:
        """Return the amount as people write it, or an empty string if the payer chooses it."""
        return "" if self.amount is None else money(self.amount, self.currency)

    @property
    def smallest_entered_amount(self) -> int:
        """Return the smallest amount that a payer may enter, in minor units; the business may have raised its own."""
        return max(self.amount_min or 0, smallest_payment(self.business, self.currency))

    def accepts(self, method: str) -> bool:
        return method in self.payment_methods

    def asks_for(self, field: str) -> str:
        """Return whether payers give their name, email or phone: required, optional or no."""
        return str(self.collect.get(field, "no"))


class CheckoutQuerySet(models.QuerySet["Checkout"]):
    def with_personal_data(self) -> CheckoutQuerySet:
        return self.filter(is_erased=False)


class Checkout(models.Model):
    """One payer at one link: who pays how much. Its state is derived from its attempts (`Transaction.checkout`)."""

    class State(models.TextChoices):
        OPEN = "open"  # may begin an attempt
        PAYING = "paying"  # an attempt is pending
        PAID = "paid"  # an attempt succeeded; final
        CLOSED = "closed"  # too old, or too many attempts failed

    id = models.UUIDField(primary_key=True, editable=False)  # version 7: sorts by creation
    token = models.CharField(max_length=32, unique=True, default=new_checkout_token)
    link = models.ForeignKey(PaymentLink, on_delete=models.PROTECT, related_name="checkouts", db_index=False)
    amount = models.BigIntegerField()  # minor units, of all units together
    quantity = models.PositiveSmallIntegerField(default=1)
    currency = models.CharField(max_length=3)
    method = models.CharField(max_length=16)  # as chosen; each attempt has its own
    name = FreeTextField(max_length=255, blank=True)
    email = models.CharField(max_length=254, blank=True)
    phone = FreeTextField(max_length=20, blank=True)
    answers = FreeTextJSONField(default=dict, blank=True)
    address = models.GenericIPAddressField(null=True, blank=True)
    network = models.CharField(max_length=43, blank=True)  # IPv4 address, or the /64 of an IPv6 address
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    is_erased = models.BooleanField(default=False)  # by retention: the payer's data is gone

    objects = CheckoutQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount__gt=0, quantity__gte=1), name="checkouts_have_amounts"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["link", "-id"], name="checkouts_of_link"),
            models.Index(fields=["network", "-id"], condition=~Q(network=""), name="checkouts_of_network"),
            models.Index(fields=["created_at"], condition=Q(is_erased=False), name="checkouts_with_data"),
        ]

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def url(self) -> str:
        """Return the address of the payer's page. It is a credential: it shows what the payer entered."""
        return f"{settings.PUBLIC_URL}/checkout/{self.token}"

    def state_of(self, statuses: Collection[str], *, now: datetime) -> State:
        """Return the state that follows from the statuses of its attempts."""
        if "success" in statuses:
            return self.State.PAID
        if "pending" in statuses:
            return self.State.PAYING
        if now >= self.expires_at or len(statuses) >= MOST_ATTEMPTS:
            return self.State.CLOSED
        return self.State.OPEN
