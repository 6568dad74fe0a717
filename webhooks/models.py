"""Webhook endpoints, deliveries and attempts."""

from __future__ import annotations

from datetime import datetime
from http.client import responses
from typing import ClassVar

from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Least

from kit.db.card_number_fields import CheckedURLField, FreeBytesField, FreeTextField
from kit.db.encrypted_field import EncryptedTextField
from merchants.models import Business
from webhooks.exams.exam_records import Exam  # noqa: F401  (registers the model)


class Category(models.TextChoices):
    """Event categories that a merchant subscribes to, with their labels in the dashboard."""

    PAYMENT = "payment", "Payment events"
    PAYOUT = "payout", "Payout events"
    # Off unless the merchant subscribes.
    REFUND = "refund", "Refund events"
    REVERSAL = "reversal", "Reversal events"
    UNAPPLIED = "unapplied", "Unapplied transfer events"
    SETTLEMENT = "settlement", "Settlement events"


# Default subscriptions of a new endpoint.
DEFAULT_CATEGORIES = (Category.PAYMENT, Category.PAYOUT)


class Event(models.TextChoices):
    """Event kinds. The label is the name that merchants receive; the data holds the reason of a failure.

    Two are stored under shorter names, because the column has 16 characters and widening it would break the
    prepared statements of the previous release (decision 0007).
    """

    PAYMENT_SUCCESS = "payment.success", "payment.success"
    PAYMENT_FAILED = "payment.failed", "payment.failed"
    PAYMENT_MISMATCH = "payment.mismatch", "payment.mismatch"  # a dynamic account received another amount
    PAYOUT_SUCCESS = "payout.success", "payout.success"
    PAYOUT_FAILED = "payout.failed", "payout.failed"
    REFUND_SUCCESS = "refund.success", "refund.success"
    REFUND_FAILED = "refund.failed", "refund.failed"
    PAYOUT_REVERSED = "payout.reversed", "payout.reversed"  # the bank has returned a successful payout
    TRANSFER_UNAPPLIED = "unapplied", "transfer.unapplied"  # a transfer matches no payment
    SETTLEMENT_RELEASED = "released", "settlement.released"  # the net of a batch was credited to the wallet


CATEGORIES: dict[str, Category] = {
    Event.PAYMENT_SUCCESS: Category.PAYMENT,
    Event.PAYMENT_FAILED: Category.PAYMENT,
    Event.PAYMENT_MISMATCH: Category.PAYMENT,
    Event.PAYOUT_SUCCESS: Category.PAYOUT,
    Event.PAYOUT_FAILED: Category.PAYOUT,
    Event.REFUND_SUCCESS: Category.REFUND,
    Event.REFUND_FAILED: Category.REFUND,
    Event.PAYOUT_REVERSED: Category.REVERSAL,
    Event.TRANSFER_UNAPPLIED: Category.UNAPPLIED,
    Event.SETTLEMENT_RELEASED: Category.SETTLEMENT,
}

# Kinds that are rare compared with successful payments and payouts. Lists of one such kind have an index.
RARE_EVENTS = tuple(
    event.value for event in Event if event not in {Event.PAYMENT_SUCCESS, Event.PAYOUT_SUCCESS}
)


def category_of(event: str) -> Category:
    """Return the category that an event belongs to."""
    return CATEGORIES[event]


def event_name(event: str) -> str:
    """Return an event's name as merchants receive it.

    >>> event_name("unapplied")
    'transfer.unapplied'
    """
    return str(Event(event).label)


# The kinds of the categories that a new endpoint is subscribed to.
USUAL_EVENTS = tuple(event for event in Event if CATEGORIES[event] in DEFAULT_CATEGORIES)


def event_of_name(name: str) -> Event:
    """Return the event that merchants know by this name.

    >>> event_of_name("transfer.unapplied")
    Event.TRANSFER_UNAPPLIED
    """
    return next(event for event in Event if event.label == name)


class Endpoint(models.Model):
    """The URL that receives a business's events. Each business has one."""

    business = models.OneToOneField(Business, on_delete=models.CASCADE, related_name="webhook_endpoint")
    url = CheckedURLField(max_length=2048)
    subscribed_events = models.JSONField(help_text=f"Categories: {', '.join(Category.values)}.")
    enabled = models.BooleanField(default=True)
    hash_key = EncryptedTextField()
    created_at = models.DateTimeField()
    key_made_at = models.DateTimeField()
    # The key before the last rotation, which signs beside the new one until then.
    previous_hash_key = EncryptedTextField(null=True, blank=True)
    previous_key_ends_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(previous_hash_key__isnull=True, previous_key_ends_at__isnull=True)
                | Q(previous_hash_key__isnull=False, previous_key_ends_at__isnull=False),
                name="previous_key_has_an_end",
            ),
        ]

    def __str__(self) -> str:
        return self.url

    def is_subscribed_to(self, event: str) -> bool:
        return category_of(event) in self.subscribed_events


class OpenOutage(models.Model):
    """An outage of an endpoint, from its detection until its end; see `outage_notices`."""

    endpoint = models.OneToOneField(Endpoint, on_delete=models.CASCADE, related_name="+")
    began_at = models.DateTimeField()
    notified_at = models.DateTimeField(null=True)  # when members were notified of the outage
    leased_until = models.DateTimeField(null=True)  # another worker is sending a notice

    def __str__(self) -> str:
        return f"outage of {self.endpoint_id} since {self.began_at:%Y-%m-%d %H:%M}"


# Whether a delivery was tried before: 0 or 1. The SQL in `leases` has the same expression, to use the same index.
TRIES = Least(F("attempts_made") + F("manual_attempts"), Value(1), output_field=models.IntegerField())


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def due(self, *, at: datetime) -> DeliveryQuerySet:
        return self.filter(state=Delivery.State.WAITING, next_attempt_at__lte=at)

    def releasable(self) -> DeliveryQuerySet:
        """Return deliveries that are held although their endpoint is enabled."""
        enabled = Endpoint.objects.filter(enabled=True).values("business")
        return self.filter(state=Delivery.State.HELD, business__in=enabled)

    def without_tests(self) -> DeliveryQuerySet:
        """Exclude test events, which no figure counts."""
        return self.filter(subject__isnull=False)

    def with_payload(self) -> DeliveryQuerySet:
        """Exclude deliveries whose body has been purged. They cannot be resent."""
        return self.exclude(body="")


class Delivery(models.Model):
    """An event for a business. Its id is the event's id. Its body never changes and is purged after a while."""

    class State(models.TextChoices):
        WAITING = "waiting"  # due, being sent, or waiting for its next attempt
        HELD = "held"  # the endpoint is disabled; uses no attempt
        DELIVERED = "delivered"  # answered with 2xx
        DEAD = "dead"  # the last automatic attempt failed; only manual attempts follow
        SKIPPED = "skipped"  # not sent: unsubscribed, or held for too long
        # The one attempt of a test event failed. Shorter than the API's `test_failed`: the column has 9 characters.
        TEST_FAILED = "failed", "Test failed"

    # How pages name the states. Labels of the choices would be part of the migrations, and so they stay.
    STATE_NAMES: ClassVar[dict[str, str]] = {
        State.WAITING: "Retrying",
        State.HELD: "Held",
        State.DELIVERED: "Delivered",
        State.DEAD: "Stopped",
        State.SKIPPED: "Skipped",
        State.TEST_FAILED: "Test failed",
    }

    id = models.UUIDField(primary_key=True, editable=False)
    business = models.ForeignKey(
        Business, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    # The outcome: a transaction, refund, payout return, unapplied transfer or settlement. Null for a test event.
    subject = models.UUIDField(unique=True, null=True)
    event = models.CharField(max_length=16, choices=Event.choices)
    body = models.TextField()  # empty after its retention period
    state = models.CharField(max_length=9, choices=State.choices, default=State.WAITING)
    attempts_made = models.PositiveSmallIntegerField(default=0)  # automatic ones, at most eight
    manual_attempts = models.PositiveSmallIntegerField(default=0)
    is_manual = models.BooleanField(default=False)  # the next attempt is manual
    next_attempt_at = models.DateTimeField(null=True)  # while being sent: when the lease ends
    lease_token = models.UUIDField(null=True)
    created_at = models.DateTimeField()
    held_at = models.DateTimeField(null=True)  # when it was first held for a disabled endpoint
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
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "held", "delivered", "dead", "skipped"])
                | Q(state="failed", subject__isnull=True),
                name="known_delivery_states",
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
            models.Index(
                fields=["created_at"],
                condition=Q(state="failed") & ~Q(body=""),
                name="deliveries_failed_tests",
            ),
            models.Index(
                fields=["business", "event", "-created_at"],
                condition=Q(event__in=RARE_EVENTS),
                name="deliveries_by_rare_event",
            ),
        ]

    def __str__(self) -> str:
        return f"{event_name(self.event)} {self.pk}"

    @property
    def is_test(self) -> bool:
        return self.subject is None

    @property
    def state_name(self) -> str:
        return self.STATE_NAMES[self.state]

    @property
    def has_payload(self) -> bool:
        """Whether its body has not been purged; see `purge`."""
        return self.body != ""


FINISHED = (
    Delivery.State.DELIVERED,
    Delivery.State.DEAD,
    Delivery.State.SKIPPED,
    Delivery.State.TEST_FAILED,
)


class Attempt(models.Model):
    """An attempt at a delivery: time, address, duration of each phase, and result."""

    # Written for each delivery, so without a constraint (decision 0005); the unique constraint has an index of it.
    delivery = models.ForeignKey(
        Delivery, on_delete=models.PROTECT, related_name="attempts", db_index=False, db_constraint=False
    )
    number = models.PositiveSmallIntegerField()
    is_manual = models.BooleanField(default=False)
    started_at = models.DateTimeField()
    address = models.GenericIPAddressField(null=True)
    dns_ms = models.FloatField(null=True)
    connect_ms = models.FloatField(null=True)  # TCP alone
    tls_ms = models.FloatField(null=True)  # the handshake, verification included; null without one
    wait_ms = models.FloatField(null=True)  # from the sent request to the end of the response headers
    total_ms = models.FloatField()
    status = models.PositiveSmallIntegerField(null=True)
    error = models.CharField(max_length=32, blank=True)  # a class such as timeout
    explanation = FreeTextField(max_length=255, blank=True)  # the same in a sentence
    excerpt = FreeBytesField(max_length=2048, blank=True)  # the first bytes of the response body

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["delivery", "number"], name="one_attempt_per_number"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.delivery_id}"

    @property
    def response(self) -> str:
        """Return the response as lists show it, such as "500 Internal Server Error in 18 ms", or why there is none."""
        if self.status is None:
            return str(self.explanation).rstrip(".")
        return f"{self.status} {responses.get(self.status, '')}".rstrip() + f" in {self.total_ms:.0f} ms"

    @property
    def result(self) -> str:
        """Return the response as a sentence."""
        return f"{self.response}." + (" Redirects are not followed." if self.error == "redirect" else "")


class Listener(models.Model):
    """A developer's machine that asks for copies of a business's events. Exists in a sandbox only."""

    business = models.ForeignKey(Business, on_delete=models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=64)
    events = models.JSONField(help_text="The kinds of events that are copied, as stored in `Event`.")
    dropped = models.PositiveIntegerField(default=0)  # copies that were deleted because there were too many
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()  # an hour after the last poll

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["business", "name"], name="one_listener_per_name"),
        ]

    def __str__(self) -> str:
        return self.name


class ListenerCopy(models.Model):
    """A copy of an event that a listener has not acknowledged.

    Copies are inserted in the transaction of an outcome. No database constraint ties them to their listener: an
    outcome could fail, or wait, because the listener ends at the same moment. `purge` deletes what such a race leaves.
    """

    class Origin(models.TextChoices):
        EVENT = "event"
        RESEND = "resend"
        TEST = "test"

    listener = models.ForeignKey(
        Listener, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    event_id = models.UUIDField()
    event = models.CharField(max_length=16, choices=Event.choices)
    origin = models.CharField(max_length=6, choices=Origin.choices)
    body = models.TextField()  # the same bytes as the delivery's, if there is one
    times = models.PositiveIntegerField(default=0)  # how often it was returned by a poll
    created_at = models.DateTimeField()  # of the event

    class Meta:
        verbose_name_plural = "listener copies"
        indexes: ClassVar = [models.Index(fields=["listener", "id"], name="copies_oldest_first")]

    def __str__(self) -> str:
        return f"{event_name(self.event)} {self.event_id} for listener {self.listener_id}"
