"""Webhook endpoints, deliveries and attempts."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime
from functools import cache
from http.client import responses
from typing import ClassVar

from django.db import models
from django.db.models import Case, Exists, F, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Least

from kit.db.card_number_fields import CheckedURLField, FreeBytesField, FreeTextField
from kit.db.encrypted_field import EncryptedTextField
from merchants.models import Business
from webhooks import versions
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
    ACCOUNT = "account", "Account events"
    PAYOUT_BATCH = "payout_batch", "Payout batch events"
    DISPUTE = "dispute", "Dispute events"
    BALANCE = "balance", "Balance events"


# Default subscriptions of a new endpoint.
DEFAULT_CATEGORIES = (Category.PAYMENT, Category.PAYOUT)


class Event(models.TextChoices):
    """Event kinds. The label is the name that merchants receive; the data holds the reason of a failure.

    Three are stored under shorter names, because the column has 16 characters and widening it would break the
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
    ACCOUNT_ACTIVE = "account.active", "account.active"  # the provider has opened a static account
    ACCOUNT_FAILED = "account.failed", "account.failed"  # the provider refuses to open it
    PAYOUT_BATCH_COMPLETED = "batch.completed", "payout_batch.completed"  # each payout of a batch is final
    DISPUTE_OPENED = "dispute.opened", "dispute.opened"
    DISPUTE_UPDATED = "dispute.updated", "dispute.updated"  # submitted, or another deadline
    DISPUTE_DUE_SOON = "dispute.due_soon", "dispute.due_soon"  # half, or three quarters of the time are over
    DISPUTE_CLOSED = "dispute.closed", "dispute.closed"
    BALANCE_ADJUSTED = "balance.adjusted", "balance.adjusted"  # staff debited the wallet by a journal


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
    Event.ACCOUNT_ACTIVE: Category.ACCOUNT,
    Event.ACCOUNT_FAILED: Category.ACCOUNT,
    Event.PAYOUT_BATCH_COMPLETED: Category.PAYOUT_BATCH,
    Event.DISPUTE_OPENED: Category.DISPUTE,
    Event.DISPUTE_UPDATED: Category.DISPUTE,
    Event.DISPUTE_DUE_SOON: Category.DISPUTE,
    Event.DISPUTE_CLOSED: Category.DISPUTE,
    Event.BALANCE_ADJUSTED: Category.BALANCE,
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


@cache  # every delivery that is sent asks for it
def subscriptions_to(event: str) -> tuple[str, str]:
    """Return the two words of which an endpoint must have one to receive an event: its category and its name.

    >>> subscriptions_to("unapplied")
    ('unapplied', 'transfer.unapplied')
    """
    return category_of(event).value, event_name(event)


def is_subscribed(words: Collection[str], event: str) -> bool:
    """Return whether words that an endpoint subscribed to include an event.

    >>> is_subscribed(["refund", "payment.success"], "payment.success")
    True
    """
    category, name = subscriptions_to(event)
    return category in words or name in words


# What an endpoint can subscribe to.
SUBSCRIPTIONS = (*Category.values, *(event.label for event in Event))

# The kinds of the categories that a new endpoint is subscribed to.
USUAL_EVENTS = tuple(event for event in Event if CATEGORIES[event] in DEFAULT_CATEGORIES)


def event_of_name(name: str) -> Event:
    """Return the event that merchants know by this name.

    >>> event_of_name("transfer.unapplied")
    Event.TRANSFER_UNAPPLIED
    """
    return next(event for event in Event if event.label == name)


def endpoint_id(business_id: uuid.UUID, number: int) -> uuid.UUID:
    """Return the public id of an endpoint."""
    return uuid.uuid5(business_id, f"webhook endpoint {number}")


NEWEST_DELIVERED = 200  # deliveries that are read to find the last success


class EndpointQuerySet(models.QuerySet["Endpoint"]):
    def live(self) -> EndpointQuerySet:
        return self.filter(deleted_at=None)

    def first_of(self, business: Business | uuid.UUID) -> EndpointQuerySet:
        """Return the first endpoint of a business, if it has one."""
        return self.filter(business=business, number=Endpoint.FIRST)

    def tried(self) -> EndpointQuerySet:
        """Return endpoints with an attempt that says whether they work: of test events only those that were delivered.

        Of another URL than the first one, only an attempt that began after the change and delivered says so.
        """
        mine = Delivery.objects.filter(business=OuterRef("business"), endpoint_number=OuterRef("number"))
        attempted = mine.filter(Q(attempts_made__gt=0) | Q(manual_attempts__gt=0))
        newest = Delivery.objects.filter(
            business=OuterRef(OuterRef("business")),
            endpoint_number=OuterRef(OuterRef("number")),
            state=Delivery.State.DELIVERED,
        ).order_by("-created_at")[:NEWEST_DELIVERED]
        since_change = Attempt.objects.filter(
            delivery__in=newest.values("pk"), error="", started_at__gt=OuterRef("url_changed_at")
        )
        return self.filter(
            Q(Exists(attempted.exclude(state=Delivery.State.TEST_FAILED)), url_changed_at=None)
            | Q(Exists(since_change))
        )


class Endpoint(models.Model):
    """A URL that receives a business's events. The first is the one that businesses with a single endpoint have."""

    FIRST = 0  # its number; it is never deleted

    # Without an index of its own: the unique constraint has one.
    business = models.ForeignKey(
        Business, on_delete=models.CASCADE, related_name="webhook_endpoints", db_index=False
    )
    number = models.IntegerField(default=FIRST, db_default=FIRST)  # within the business, never used again
    url = CheckedURLField("URL", max_length=2048)
    subscribed_events = models.JSONField(
        help_text=f"Names of events, or categories: {', '.join(Category.values)}."
    )
    description = FreeTextField(max_length=255, blank=True, default="", db_default="")
    standard_webhooks = models.BooleanField(default=False, db_default=False)
    api_version = models.CharField(
        "API version",
        max_length=10,
        default=versions.NEWEST,
        db_default=versions.FIRST,
        validators=[versions.validate],
    )
    # Its requests name their version.
    made_by_api = models.BooleanField("made by the API", default=False, db_default=False)
    enabled = models.BooleanField(default=True)
    hash_key = EncryptedTextField()
    created_at = models.DateTimeField()
    # Earlier attempts say nothing about the URL.
    url_changed_at = models.DateTimeField("URL changed at", null=True, blank=True)
    key_made_at = models.DateTimeField()
    # The key before the last rotation, which signs beside the new one until then.
    previous_hash_key = EncryptedTextField(null=True, blank=True)
    previous_key_ends_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)  # the row is kept: the log shows its URL

    objects = EndpointQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            # Of expressions, so that it is an index, which can be built while rows are written.
            models.UniqueConstraint(F("business"), F("number"), name="one_endpoint_per_number"),
            models.CheckConstraint(
                condition=~Q(number=0) | Q(deleted_at__isnull=True), name="first_endpoints_are_never_deleted"
            ),
            models.CheckConstraint(
                condition=Q(previous_hash_key__isnull=True, previous_key_ends_at__isnull=True)
                | Q(previous_hash_key__isnull=False, previous_key_ends_at__isnull=False),
                name="previous_key_has_an_end",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["business"],
                condition=Q(number__gt=0, enabled=True, deleted_at__isnull=True),
                name="further_endpoints",
            ),
        ]

    def __str__(self) -> str:
        return self.url

    @property
    def public_id(self) -> uuid.UUID:
        """Return its id in the API, which follows from the business and the number (decision 0095)."""
        return endpoint_id(self.business_id, self.number)

    @property
    def is_first(self) -> bool:
        return self.number == self.FIRST

    @property
    def audit_target(self) -> str:
        """Return how audit entries name it: the first one by no name, as when it was the only one."""
        return "" if self.is_first else str(self.public_id)

    @property
    def single_events(self) -> list[str]:
        """Return the names of events that it is subscribed to beside categories."""
        return [word for word in self.subscribed_events if word not in Category.values]

    def is_subscribed_to(self, event: str) -> bool:
        return is_subscribed(self.subscribed_events, event)


class OpenOutageQuerySet(models.QuerySet["OpenOutage"]):
    def at_present_urls(self) -> OpenOutageQuerySet:
        """Exclude outages of a URL that was changed since."""
        unchanged = Q(endpoint__url_changed_at=None) | Q(began_at__gt=F("endpoint__url_changed_at"))
        return self.filter(unchanged)


class OpenOutage(models.Model):
    """An outage of an endpoint, from its detection until its end; see `outage_notices`."""

    endpoint = models.OneToOneField(Endpoint, on_delete=models.CASCADE, related_name="+")
    began_at = models.DateTimeField()
    notified_at = models.DateTimeField(null=True)  # when members were notified of the outage
    leased_until = models.DateTimeField(null=True)  # another worker is sending a notice

    objects = OpenOutageQuerySet.as_manager()

    def __str__(self) -> str:
        return f"outage of {self.endpoint_id} since {self.began_at:%Y-%m-%d %H:%M}"


# Whether a delivery was tried before: 0 or 1. The SQL in `leases` has the same expression, to use the same index.
TRIES = Least(F("attempts_made") + F("manual_attempts"), Value(1), output_field=models.IntegerField())


def _has_endpoint(**conditions: bool) -> Exists:
    """Return the condition that a delivery's endpoint isn't deleted and meets these conditions."""
    live = Endpoint.objects.live().filter(business=OuterRef("business"), number=OuterRef("endpoint_number"))
    return Exists(live.filter(**conditions))


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def due(self, *, at: datetime) -> DeliveryQuerySet:
        return self.filter(state=Delivery.State.WAITING, next_attempt_at__lte=at)

    def releasable(self) -> DeliveryQuerySet:
        """Return deliveries that are held although their endpoint is enabled."""
        return self.filter(_has_endpoint(enabled=True), state=Delivery.State.HELD)

    def of_deleted_endpoints(self) -> DeliveryQuerySet:
        return self.filter(~_has_endpoint(), endpoint_number__gt=Endpoint.FIRST)

    def of_live_endpoints(self) -> DeliveryQuerySet:
        return self.filter(Q(endpoint_number=Endpoint.FIRST) | _has_endpoint())

    def of_endpoint(self, endpoint: Endpoint) -> DeliveryQuerySet:
        return self.filter(business=endpoint.business_id, endpoint_number=endpoint.number)

    def resendable(self, *, at: datetime) -> DeliveryQuerySet:
        """Return deliveries in a state in which they can be resent; retrying ones while no attempt is due or made."""
        planned = Q(state=Delivery.State.WAITING, is_manual=False, lease_token=None, next_attempt_at__gt=at)
        return self.filter(planned | Q(state__in=RESENT_AT_ANY_TIME))

    def with_endpoint_url(self) -> DeliveryQuerySet:
        """Annotate `endpoint_url`: the URL of a delivery's endpoint, or nothing if the business never had another one."""
        of_business = Endpoint.objects.filter(business=OuterRef("business"))
        its_own = of_business.filter(number=OuterRef("endpoint_number")).values("url")
        several = Exists(of_business.filter(number__gt=Endpoint.FIRST))
        named = Case(
            When(several, then=Subquery(its_own)), default=Value(""), output_field=models.TextField()
        )
        return self.annotate(endpoint_url=named)

    def without_tests(self) -> DeliveryQuerySet:
        """Exclude test events, which no figure counts."""
        return self.filter(subject__isnull=False)

    def with_payload(self) -> DeliveryQuerySet:
        """Exclude deliveries whose body has been purged. They cannot be resent."""
        return self.exclude(body="")


class Delivery(models.Model):
    """An event for an endpoint. Its body never changes and is purged after a while.

    At the first endpoint its id is the event's id too.
    """

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
    endpoint_number = models.IntegerField(default=Endpoint.FIRST, db_default=Endpoint.FIRST)
    shared_event_id = models.UUIDField(null=True, editable=False)  # null: the same as `id`
    # The outcome: a transaction, refund, payout return, unapplied transfer, settlement, account or step of a dispute. Null
    # for a test event.
    subject = models.UUIDField(null=True)
    event = models.CharField(max_length=16, choices=Event.choices)
    body = models.TextField()  # empty after its retention period
    state = models.CharField(max_length=9, choices=State.choices, default=State.WAITING)
    attempts_made = models.PositiveSmallIntegerField(default=0)  # automatic ones, at most eight
    manual_attempts = models.PositiveSmallIntegerField(default=0)
    is_manual = models.BooleanField(default=False)  # the next attempt is manual
    next_attempt_at = models.DateTimeField(null=True)  # while being sent: when the lease ends
    planned_at = models.DateTimeField(
        null=True
    )  # of the next automatic attempt, while an extra one is made first
    lease_token = models.UUIDField(null=True)
    created_at = models.DateTimeField()
    held_at = models.DateTimeField(null=True)  # when it was first held for a disabled endpoint
    delivered_at = models.DateTimeField(null=True)

    endpoint_url: str | None  # annotated by `with_endpoint_url`

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deliveries"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["subject", "endpoint_number"],
                condition=Q(subject__isnull=False),
                name="one_delivery_per_outcome",
            ),
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
                "endpoint_number",
                TRIES,
                "next_attempt_at",
                condition=Q(state="waiting"),
                name="deliveries_due_by_endpoint",
            ),
            models.Index(
                fields=["business", "endpoint_number", "-created_at"],
                condition=Q(endpoint_number__gt=0),
                name="deliveries_of_further_endpoint",
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
    def event_id(self) -> uuid.UUID:
        """Return the event's id, which is the same at all endpoints."""
        return self.shared_event_id or self.pk

    @property
    def endpoint_id(self) -> uuid.UUID:
        return endpoint_id(self.business_id, self.endpoint_number)

    @property
    def is_test(self) -> bool:
        return self.subject is None

    @property
    def state_name(self) -> str:
        return self.STATE_NAMES[self.state]

    def is_resendable(self, *, at: datetime) -> bool:
        """Return what `DeliveryQuerySet.resendable` finds, of a row that was read."""
        if self.state != self.State.WAITING or self.next_attempt_at is None:
            return self.state in RESENT_AT_ANY_TIME
        return not self.is_manual and self.lease_token is None and self.next_attempt_at > at

    @property
    def attempts_count(self) -> int:
        """Return the number of attempts, automatic and manual ones. The next one's number follows it."""
        return self.attempts_made + self.manual_attempts

    @property
    def has_payload(self) -> bool:
        """Whether its body has not been purged; see `purge`."""
        return self.body != ""


RESENT_AT_ANY_TIME = (Delivery.State.DEAD, Delivery.State.DELIVERED, Delivery.State.HELD)
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

    # Milliseconds until the response. Null without one: a refused connection says nothing about an endpoint's speed.
    RESPONSE_MS: ClassVar = Case(When(status__isnull=False, then=F("total_ms")))

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["delivery", "number"], name="one_attempt_per_number"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.delivery_id}"

    @property
    def body(self) -> str:
        """Return the first 2 KiB of the response's body."""
        return bytes(self.excerpt).decode(errors="replace").strip()

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
