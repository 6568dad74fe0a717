"""Endpoints, the deliveries made to them, and every attempt at one."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Least

from merchants.fields import EncryptedTextField
from merchants.models import Business


class Category(models.TextChoices):
    """What a merchant subscribes to."""

    PAYMENT = "payment"
    PAYOUT = "payout"


class Event(models.TextChoices):
    """The five event kinds; the reason of a failure is in the data, never in the name."""

    PAYMENT_SUCCESS = "payment.success"
    PAYMENT_FAILED = "payment.failed"
    PAYMENT_MISMATCH = "payment.mismatch"  # a dynamic account received another amount
    PAYOUT_SUCCESS = "payout.success"
    PAYOUT_FAILED = "payout.failed"


def category_of(event: str) -> str:
    """Return the category that an event belongs to."""
    return str(event).partition(".")[0]


class Endpoint(models.Model):
    """Where a business hears of events. One each."""

    business = models.OneToOneField(Business, on_delete=models.CASCADE, related_name="webhook_endpoint")
    url = models.CharField(max_length=2048)
    subscribed_events = models.JSONField(help_text="Categories: payment, payout.")
    enabled = models.BooleanField(default=True)
    hash_key = EncryptedTextField()
    created_at = models.DateTimeField()
    key_made_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.url

    def is_subscribed_to(self, event: str) -> bool:
        return category_of(event) in self.subscribed_events


# Whether a delivery was tried before: 0 or 1. The claim's SQL has the same expression, to use the same index.
TRIES = Least(F("attempts_made") + F("manual_attempts"), Value(1), output_field=models.IntegerField())


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def due(self, *, at: datetime) -> DeliveryQuerySet:
        return self.filter(state=Delivery.State.WAITING, next_attempt_at__lte=at)

    def releasable(self) -> DeliveryQuerySet:
        """Those that are held although their endpoint is enabled."""
        enabled = Endpoint.objects.filter(enabled=True).values("business")
        return self.filter(state=Delivery.State.HELD, business__in=enabled)

    def with_payload(self) -> DeliveryQuerySet:
        """Those whose body is still there: the old ones' is forgotten, and cannot be sent again."""
        return self.exclude(body="")


class Delivery(models.Model):
    """One event on its way to one business. Its id is the event's; its body never changes, and is forgotten in the end."""

    class State(models.TextChoices):
        WAITING = "waiting"  # due, being sent, or waiting for its next attempt
        HELD = "held"  # the endpoint is switched off; no attempt is used up
        DELIVERED = "delivered"  # answered with 2xx
        DEAD = "dead"  # the last automatic attempt failed; goes on by hand only
        SKIPPED = "skipped"  # no longer wanted: unsubscribed, or held for too long

    id = models.UUIDField(primary_key=True, editable=False)
    business = models.ForeignKey(Business, on_delete=models.PROTECT, related_name="+", db_index=False)
    subject = models.UUIDField(unique=True, null=True)  # the transaction; null for a test event
    event = models.CharField(max_length=16, choices=Event.choices)
    body = models.TextField()  # empty once it is past its days
    state = models.CharField(max_length=9, choices=State.choices, default=State.WAITING)
    attempts_made = models.PositiveSmallIntegerField(default=0)  # automatic ones, at most eight
    manual_attempts = models.PositiveSmallIntegerField(default=0)
    is_manual = models.BooleanField(default=False)  # the next attempt was asked for by hand
    next_attempt_at = models.DateTimeField(null=True)  # while being sent: when the lease ends
    lease_token = models.UUIDField(null=True)
    created_at = models.DateTimeField()
    held_at = models.DateTimeField(null=True)  # since when it waits for its endpoint to be switched on
    delivered_at = models.DateTimeField(null=True)

    objects: ClassVar = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deliveries"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(state="waiting", next_attempt_at__isnull=False) | ~Q(state="waiting"),
                name="waiting_deliveries_have_a_next_attempt",
            ),
            models.CheckConstraint(
                condition=~Q(state="delivered") | Q(delivered_at__isnull=False),
                name="delivered_deliveries_have_delivered_at",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["waiting", "held"]) | ~Q(body=""),
                name="deliveries_to_send_have_a_body",
            ),
            models.CheckConstraint(
                condition=~Q(state="held") | Q(held_at__isnull=False), name="held_deliveries_have_held_at"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["next_attempt_at"], condition=Q(state="waiting"), name="deliveries_due"),
            models.Index(fields=["business"], condition=Q(state="held"), name="deliveries_held"),
            models.Index(
                "business",
                TRIES,
                "next_attempt_at",
                condition=Q(state="waiting"),
                name="deliveries_due_by_tries",
            ),
            models.Index(fields=["business", "-created_at"], name="deliveries_newest_first"),
            models.Index(fields=["business", "state", "-created_at"], name="deliveries_by_state"),
            models.Index(
                fields=["state", "created_at"],
                condition=Q(state__in=["delivered", "dead", "skipped"]) & ~Q(body=""),
                name="deliveries_finished",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.pk}"

    @property
    def has_payload(self) -> bool:
        """Whether its body is still there; see `retention`."""
        return self.body != ""


FINISHED = (Delivery.State.DELIVERED, Delivery.State.DEAD, Delivery.State.SKIPPED)


class Attempt(models.Model):
    """One try at a delivery: when, where, how long each phase took, and what came of it."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    is_manual = models.BooleanField(default=False)
    started_at = models.DateTimeField()
    address = models.GenericIPAddressField(null=True)
    dns_ms = models.FloatField(null=True)
    connect_ms = models.FloatField(null=True)  # TCP alone
    tls_ms = models.FloatField(null=True)  # the handshake, verification included; null without one
    wait_ms = models.FloatField(null=True)  # from the request sent to the end of the answer's headers
    total_ms = models.FloatField()
    status = models.PositiveSmallIntegerField(null=True)
    error = models.CharField(max_length=32, blank=True)  # a class such as timeout
    explanation = models.CharField(max_length=255, blank=True)  # the same in words
    excerpt = models.BinaryField(max_length=2048, blank=True)  # the first bytes of the answer's body

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["delivery", "number"], name="one_attempt_per_number"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.delivery_id}"
