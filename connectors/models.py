"""Events that providers sent by webhook."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from kit.db.card_number_fields import FreeBytesField, FreeTextField, FreeTextJSONField
from payments.models import CardOperation, Transaction

CAPTURED, CAPTURE_REFUSED = ("payment_captured",), ("payment_capture_declined",)  # kinds of events


class ProviderEventQuerySet(models.QuerySet["ProviderEvent"]):
    def due(self, *, at: datetime) -> ProviderEventQuerySet:
        """Return the events to be processed now. Has an index."""
        return self.filter(next_attempt_at__lte=at)

    def finished(self) -> ProviderEventQuerySet:
        """Return the events that need no further attempt."""
        return self.filter(next_attempt_at=None)

    def refused_captures(self) -> ProviderEventQuerySet:
        """Return the events by which a provider refused a capture that it has not made. Has an index.

        Events arrive in any order, and a payment that is captured as a whole isn't captured again.
        """
        made = ProviderEvent.objects.filter(transaction=OuterRef("transaction"), kind__in=CAPTURED)
        return self.filter(~Exists(made), kind__in=CAPTURE_REFUSED)

    def to_process_again(self, *, now: datetime) -> int:
        """Make events due from their first attempt, and return their number."""
        return self.update(next_attempt_at=now, attempts=0, asked_at=None)


class ProviderEvent(models.Model):
    """An authentic event of a provider. It changes nothing itself: the provider is queried about what it names."""

    class Result(models.TextChoices):
        """What processing the event led to."""

        WAITING = "", "waiting"
        QUERIED = "queried", "provider queried"  # `outcome` says what changed
        NOT_ANSWERED = "not_answered", "query not answered"  # it is repeated on its own schedule
        NOTHING_OPEN = "nothing_open", "nothing to query"  # the outcome is known
        NOT_OURS = "not_ours", "no transaction of ours"
        OTHER_ACCOUNT = "other_account", "another account"
        KEPT = "kept", "kept"  # this kind is only stored
        UNKNOWN_KIND = "unknown_kind", "unknown kind"
        FAILED = "failed", "failed"  # an error of ours, which the log has

    id = models.UUIDField(primary_key=True, editable=False)  # version 7: sorts by receipt
    provider = models.CharField(max_length=20)
    # The provider's id of the event, or the SHA-256 of its body.
    event_key = FreeTextField(max_length=64)
    kind = FreeTextField(max_length=60)
    account = FreeTextField(max_length=60, blank=True)  # at the provider; empty: the event names none
    references = FreeTextJSONField()  # texts; our own ids as UUIDs
    body = FreeBytesField()  # JSON, masked: see `connectors.services.event_masking`
    # What it is about, once it was found.
    transaction = models.ForeignKey(
        Transaction, on_delete=models.PROTECT, null=True, related_name="+", db_constraint=False
    )
    operation = models.ForeignKey(
        CardOperation,
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    result = models.CharField(
        max_length=13, choices=Result.choices, blank=True, default=Result.WAITING, db_default=""
    )
    outcome = FreeTextField(max_length=255, blank=True, default="", db_default="")
    received_at = models.DateTimeField()
    last_received_at = models.DateTimeField()
    times_received = models.PositiveIntegerField(default=1, db_default=1)
    asked_at = models.DateTimeField(null=True)  # when its query was last made due
    processed_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0, db_default=0)
    next_attempt_at = models.DateTimeField(null=True)  # null: processed

    objects = ProviderEventQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["provider", "event_key"], name="each_provider_event_once"),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["next_attempt_at"],
                condition=Q(next_attempt_at__isnull=False),
                name="provider_events_due",
            ),
            models.Index(fields=["provider", "-id"], name="provider_events_by_provider"),
            models.Index(fields=["result", "-id"], name="provider_events_by_result"),
            models.Index(fields=["kind", "-id"], name="provider_events_by_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.provider}"


class RefusedCaptureManager(models.Manager["RefusedCapture"]):
    def get_queryset(self) -> QuerySet[RefusedCapture]:
        refused = ProviderEvent.objects.refused_captures().values("transaction")
        paid = super().get_queryset().filter(status=Transaction.Status.SUCCESS, captures_at_once=True)
        return paid.filter(pk__in=refused, amount_refunded__lt=F("amount_captured"))


class RefusedCapture(Transaction):
    """A payment that succeeded, although its acquirer refused the automatic capture later. Refunded ones are left out."""

    objects: ClassVar = RefusedCaptureManager()  # type: ignore[assignment]  # of fewer rows

    class Meta:
        proxy = True
        verbose_name = "capture refused by the acquirer"
        verbose_name_plural = "captures refused by the acquirer"
