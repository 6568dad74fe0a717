"""Purging of finished deliveries: bodies and responses first, attempts much later. Delivery rows are kept.

The row prevents a second delivery of the same event and proves that and when the merchant was notified. The
body and the responses hold personal data and have retention periods.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from kit.db.rows.batched_purge import purge_in_order
from webhooks.models import FINISHED, Attempt, Delivery, DeliveryQuerySet

PIECE = 1_000  # deliveries, each with a few attempts


def old_payloads(*, now: datetime) -> DeliveryQuerySet:
    """Return the finished deliveries with a body that is past its retention period."""
    before = now - timedelta(days=settings.WEBHOOK_PAYLOAD_RETENTION)
    return Delivery.objects.with_payload().filter(state__in=FINISHED, created_at__lt=before)


def purge_payloads(*, now: datetime) -> Iterator[int]:
    """Empty those bodies and the stored responses, oldest first; yield the number of each batch."""
    for state in FINISHED:  # one at a time, to use the index
        yield from _purge_payloads(old_payloads(now=now).filter(state=state).order_by("created_at"))


def _purge_payloads(old: QuerySet[Delivery]) -> Iterator[int]:
    while piece := list(old.values_list("pk", flat=True)[:PIECE]):
        with transaction.atomic():
            # A concurrent replay either comes first and keeps the body, or finds no body and is refused.
            emptied = Delivery.objects.filter(pk__in=piece, state__in=FINISHED).update(body="")
            answered = Attempt.objects.filter(delivery__in=piece, delivery__body="").exclude(excerpt=b"")
            answered.update(excerpt=b"")
        if emptied:
            yield emptied


def old_attempts(*, now: datetime) -> QuerySet[Attempt]:
    """Return the attempts past their retention period, of finished deliveries without a body."""
    return _purgeable().filter(started_at__lt=_attempts_before(now))


def purge_attempts(*, now: datetime) -> Iterator[int]:
    """Delete those attempts; yield the number of each batch."""
    return purge_in_order(_purgeable(), dated="started_at", before=_attempts_before(now))


def _purgeable() -> QuerySet[Attempt]:
    return Attempt.objects.filter(delivery__state__in=FINISHED, delivery__body="")


def _attempts_before(now: datetime) -> datetime:
    return now - timedelta(days=settings.WEBHOOK_ATTEMPT_RETENTION)
