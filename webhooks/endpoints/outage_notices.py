"""Notices about outages of endpoints: one after thirty minutes without success, and one at the next success.

The caller sends a notice outside the transaction and then completes it. A lease keeps other workers from sending the
same notice, and lets one of them try again after a failure. Disabled endpoints are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from kit.db.rows.columns import save_columns
from webhooks.endpoints.outages import Outage, last_success, outage_of
from webhooks.models import TRIES, Attempt, Delivery, Endpoint, OpenOutage

NOTIFIED_AFTER = timedelta(minutes=30)
LEASE = timedelta(minutes=5)  # after a failure, also the pause until the next try
MOST_WAITING = 1000  # counted in a notice

State = Delivery.State


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What to notify members of. `recovered_at` is None while the endpoint is failing."""

    endpoint: Endpoint
    began_at: datetime
    recovered_at: datetime | None
    waiting: int  # deliveries
    last_attempt: Attempt | None

    def complete(self, *, now: datetime) -> None:
        """Record that the notice was sent."""
        outage = OpenOutage.objects.filter(endpoint=self.endpoint, began_at=self.began_at)
        if self.recovered_at is None:
            outage.update(notified_at=now, leased_until=None)
        else:
            outage.delete()


def due(*, now: datetime) -> Iterator[Notice]:
    """Yield the notices to send now, each leased to the caller."""
    for key in list(_watched(now=now).values_list("pk", flat=True)):
        notice = _lease(key, now=now)
        if notice:
            yield notice


def _watched(*, now: datetime) -> QuerySet[Endpoint]:
    """Return the endpoints that may be failing, or were when last checked. Each costs a few index lookups."""
    mine = Delivery.objects.without_tests().filter(
        business=OuterRef("business"), endpoint_number=OuterRef("number")
    )
    retried = mine.annotate(tries=TRIES).filter(state=State.WAITING, tries=1)
    stopped = mine.filter(state=State.DEAD, created_at__gte=now - timedelta(days=1))
    open_outage = OpenOutage.objects.filter(endpoint=OuterRef("pk"))
    return Endpoint.objects.filter(
        Q(Exists(open_outage)) | Q(Exists(retried)) | Q(Exists(stopped)), enabled=True
    )


@transaction.atomic
def _lease(key: int, *, now: datetime) -> Notice | None:
    """Update what is known about an endpoint's outage, and lease the notice that is due, if any."""
    # Locked first: a worker that read before another one's commit would send its notice again.
    endpoint = Endpoint.objects.select_for_update(no_key=True).filter(pk=key, enabled=True).first()
    if endpoint is None:
        return None
    found = OpenOutage.objects.filter(endpoint=endpoint).first()
    success = last_success(endpoint.business_id, endpoint.number)
    current = outage_of(endpoint)
    if found is None and current is not None:
        found = OpenOutage.objects.create(endpoint=endpoint, began_at=current.began_at)
    elif found is not None and current is not None and _is_of_another_url(found, endpoint):
        save_columns(
            found, began_at=current.began_at
        )  # members who were notified of it aren't notified again
    if found is None or (found.leased_until is not None and found.leased_until > now):
        return None
    recovered_at = success if success is not None and success > found.began_at else None
    if not _is_due(found, current, recovered_at, now=now):
        return None
    found.leased_until = now + LEASE
    found.save(update_fields=["leased_until"])
    return Notice(
        endpoint=endpoint,
        began_at=found.began_at,
        recovered_at=recovered_at,
        waiting=_waiting(endpoint),
        last_attempt=current.last_attempt if current else None,
    )


def _is_of_another_url(found: OpenOutage, endpoint: Endpoint) -> bool:
    return endpoint.url_changed_at is not None and found.began_at <= endpoint.url_changed_at


def _is_due(
    found: OpenOutage, current: Outage | None, recovered_at: datetime | None, *, now: datetime
) -> bool:
    """Return whether a notice is due. An outage that ended before its first notice is deleted."""
    if found.notified_at is not None:
        return recovered_at is not None
    if recovered_at is not None or current is None:
        found.delete()
        return False
    return now - found.began_at >= NOTIFIED_AFTER


def _waiting(endpoint: Endpoint) -> int:
    waiting = Delivery.objects.without_tests().of_endpoint(endpoint).filter(state=State.WAITING)
    return int(waiting[:MOST_WAITING].count())
