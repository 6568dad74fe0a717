"""Deliveries held while their endpoint is disabled: released when it is enabled, skipped after seven days."""

from datetime import datetime, timedelta

from django.db import transaction

from merchants.models import Business
from webhooks.models import Delivery, DeliveryQuerySet

HELD_FOR = timedelta(days=7)


@transaction.atomic
def release(*, business: Business, now: datetime) -> int:
    """Release a business's held deliveries; return their number. Those held for over seven days are skipped."""
    return _release(Delivery.objects.filter(business=business, state=Delivery.State.HELD), now=now)


def release_stragglers(*, at: datetime) -> int:
    """Release deliveries that are held although their endpoint is enabled; return their number.

    A worker that read the endpoint as disabled may write "held" just after the endpoint was enabled and its
    held deliveries were released.
    """
    stragglers = Delivery.objects.releasable()
    if not stragglers.exists():
        return 0
    with transaction.atomic():
        return _release(stragglers, now=at)


def drop_long_held(*, now: datetime) -> int:
    """Skip deliveries that have been held for over seven days; return their number."""
    return _drop(Delivery.objects.filter(state=Delivery.State.HELD), now=now)


def _release(held: DeliveryQuerySet, *, now: datetime) -> int:
    _drop(held, now=now)
    return int(held.update(state=Delivery.State.WAITING, next_attempt_at=now, held_at=None))


def _drop(held: DeliveryQuerySet, *, now: datetime) -> int:
    dropped = held.filter(held_at__lt=now - HELD_FOR)
    return int(dropped.update(state=Delivery.State.SKIPPED, next_attempt_at=None))
