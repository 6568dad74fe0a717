"""Deliveries held while their endpoint is disabled: released when it is enabled, skipped after seven days or with their endpoint."""

from datetime import datetime, timedelta

from django.db import transaction

from webhooks.models import Delivery, DeliveryQuerySet, Endpoint

HELD_FOR = timedelta(days=7)
AT_ONCE = 10_000  # deliveries that a deletion skips; a request must not wait for more
IN_A_TRANSACTION = 1_000  # of these; other writers of SQLite wait for its end


@transaction.atomic
def release(endpoint: Endpoint, *, now: datetime) -> int:
    """Release an endpoint's held deliveries; return their number. Those held for over seven days are skipped."""
    return _release(Delivery.objects.of_endpoint(endpoint).filter(state=Delivery.State.HELD), now=now)


def skip_all(endpoint: Endpoint) -> int:
    """Skip the held and waiting deliveries of a deleted endpoint, at most 10,000; return their number.

    One that is being sent keeps its lease, and is skipped when it would be sent again. So are further waiting ones;
    `drop_long_held` skips further held ones.
    """
    undelivered = Delivery.objects.of_endpoint(endpoint).filter(
        state__in=[Delivery.State.HELD, Delivery.State.WAITING], lease_token=None
    )
    # Chosen first: PostgreSQL may read a subquery again for each row. With both conditions: a delivery may be leased after
    # it was chosen.
    chosen = list(undelivered.values_list("pk", flat=True)[:AT_ONCE])
    return sum(
        _skip(undelivered.filter(pk__in=chosen[start : start + IN_A_TRANSACTION]))
        for start in range(0, len(chosen), IN_A_TRANSACTION)
    )


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
    """Skip deliveries that have been held for over seven days, or whose endpoint is gone; return their number."""
    held = Delivery.objects.filter(state=Delivery.State.HELD)
    return _drop(held, now=now) + _skip(held.of_deleted_endpoints())


def _release(held: DeliveryQuerySet, *, now: datetime) -> int:
    _drop(held, now=now)
    return int(held.update(state=Delivery.State.WAITING, next_attempt_at=now, held_at=None))


def _drop(held: DeliveryQuerySet, *, now: datetime) -> int:
    return _skip(held.filter(held_at__lt=now - HELD_FOR))


def _skip(deliveries: DeliveryQuerySet) -> int:
    return int(
        deliveries.update(
            state=Delivery.State.SKIPPED, next_attempt_at=None, is_manual=False, planned_at=None
        )
    )
