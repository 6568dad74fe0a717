"""What is forgotten of finished deliveries: first what was said, much later each attempt. The rows stay.

A delivery's row is what keeps an event from being told twice, and it tells for good that and when a merchant
was told. What it said, and what the merchant's server answered, is about people, and has its days.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from kit.db.batched_purge import forget_in_order
from webhooks.models import FINISHED, Attempt, Delivery, DeliveryQuerySet

PIECE = 1_000  # deliveries; each may have some attempts, whose answers go with it


def old_payloads(*, now: datetime) -> DeliveryQuerySet:
    """Return the finished deliveries whose bodies are past their days, and still there."""
    before = now - timedelta(days=settings.WEBHOOK_PAYLOAD_RETENTION)
    found: DeliveryQuerySet = Delivery.objects.with_payload().filter(
        state__in=FINISHED, created_at__lt=before
    )
    return found


def forget_payloads(*, now: datetime) -> Iterator[int]:
    """Empty those bodies and the answers to them, the oldest first; yield how many, piece by piece."""
    for state in FINISHED:  # one by one, as the index has them
        yield from _forget_payloads(old_payloads(now=now).filter(state=state).order_by("created_at"))


def _forget_payloads(old: QuerySet[Delivery]) -> Iterator[int]:
    while piece := list(old.values_list("pk", flat=True)[:PIECE]):
        with transaction.atomic():
            # Whoever replays one of them now is either first, and keeps its body, or finds none.
            emptied = Delivery.objects.filter(pk__in=piece, state__in=FINISHED).update(body="")
            answered = Attempt.objects.filter(delivery__in=piece, delivery__body="").exclude(excerpt=b"")
            answered.update(excerpt=b"")
        if emptied:
            yield emptied


def old_attempts(*, now: datetime) -> QuerySet[Attempt]:
    """Return the attempts past their days at deliveries that are finished and have lost their bodies."""
    return _forgettable().filter(started_at__lt=_attempts_before(now))


def forget_attempts(*, now: datetime) -> Iterator[int]:
    """Delete those attempts; yield how many, piece by piece."""
    return forget_in_order(_forgettable(), dated="started_at", before=_attempts_before(now))


def _forgettable() -> QuerySet[Attempt]:
    return Attempt.objects.filter(delivery__state__in=FINISHED, delivery__body="")


def _attempts_before(now: datetime) -> datetime:
    return now - timedelta(days=settings.WEBHOOK_ATTEMPT_RETENTION)
