"""What a drain asks of the database: claim what is due, write down what came of it. In batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.schedule import delay_before
from webhooks.sender import Exchange

WINDOW = 5  # looks at so many times the rows it may take, so that one business's many do not hide others'


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A delivery that this drain may send until its lease ends, with what is needed to send it."""

    id: UUID
    business_id: UUID
    token: UUID
    event: str
    body: str
    attempts_made: int
    manual_attempts: int
    is_manual: bool
    was_delivered: bool
    url: str
    hash_key: str

    @property
    def number(self) -> int:
        return self.attempts_made + self.manual_attempts + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """An attempt that has ended. `jitter` (-0.5 to 0.5) decides when the next one is due."""

    delivery: Claimed
    exchange: Exchange
    started_at: datetime
    ended_at: datetime
    jitter: float


def claim(
    *, at: datetime, until: datetime, token: UUID, limit: int, per_business: int, without: Sequence[UUID]
) -> list[Claimed]:
    """Take due deliveries under a lease, a fair share of each business's, oldest first.

    Deliveries whose endpoint was switched off meanwhile are held, unsubscribed ones skipped.
    """
    with transaction.atomic():
        ids = _due(at=at, limit=limit, per_business=per_business, without=without)
        if not ids:
            return []
        Delivery.objects.filter(pk__in=ids).update(lease_token=token, next_attempt_at=until)
        rows = list(Delivery.objects.filter(pk__in=ids).order_by("next_attempt_at", "id"))
        endpoints = {
            endpoint.business_id: endpoint
            for endpoint in Endpoint.objects.filter(business__in={row.business_id for row in rows})
        }
        return [
            _claimed(row, endpoints[row.business_id], token)
            for row in rows
            if _is_wanted(row, endpoints.get(row.business_id))
        ]


def _due(*, at: datetime, limit: int, per_business: int, without: Sequence[UUID]) -> list[UUID]:
    due = Delivery.objects.due(at=at)
    if without:
        due = due.exclude(business__in=without)
    if connection.features.has_select_for_update_skip_locked:
        due = due.select_for_update(skip_locked=True)
    looked_at = due.order_by("next_attempt_at").values_list("pk", "business_id")[: limit * WINDOW]
    taken: dict[UUID, int] = {}
    ids: list[UUID] = []
    for delivery_id, business_id in looked_at:
        if taken.get(business_id, 0) < per_business and len(ids) < limit:
            taken[business_id] = taken.get(business_id, 0) + 1
            ids.append(delivery_id)
    return ids


def _is_wanted(row: Delivery, endpoint: Endpoint | None) -> bool:
    """Tell whether a claimed delivery may go; if not, put it where it belongs."""
    if row.is_manual and endpoint is not None:
        return True
    if endpoint is not None and endpoint.enabled and endpoint.is_subscribed_to(row.event):
        return True
    unsubscribed = endpoint is None or not endpoint.is_subscribed_to(row.event)
    state = Delivery.State.SKIPPED if unsubscribed else Delivery.State.HELD
    Delivery.objects.filter(pk=row.pk).update(state=state, lease_token=None, next_attempt_at=None)
    return False


def _claimed(row: Delivery, endpoint: Endpoint, token: UUID) -> Claimed:
    return Claimed(
        id=row.pk,
        business_id=row.business_id,
        token=token,
        event=row.event,
        body=row.body,
        attempts_made=row.attempts_made,
        manual_attempts=row.manual_attempts,
        is_manual=row.is_manual,
        was_delivered=row.delivered_at is not None,
        url=endpoint.url,
        hash_key=endpoint.hash_key,
    )


@transaction.atomic
def finish(results: Sequence[Finished]) -> int:
    """Write down what came of attempts; return how many came too late, after their lease had ended."""
    attempts = [_attempt(result) for result in results if _settle(result)]
    Attempt.objects.bulk_create(attempts)
    return len(results) - len(attempts)


def _settle(result: Finished) -> bool:
    """Move a delivery on, if this drain still holds its lease."""
    delivery = result.delivery
    held = Delivery.objects.filter(pk=delivery.id, lease_token=delivery.token)
    return bool(held.update(lease_token=None, is_manual=False, **_next(result)))


def _next(result: Finished) -> dict[str, Any]:
    """Return what a delivery becomes after an attempt."""
    delivery = result.delivery
    made = {
        "attempts_made": delivery.attempts_made + (not delivery.is_manual),
        "manual_attempts": delivery.manual_attempts + delivery.is_manual,
    }
    if result.exchange.succeeded:
        return made | {
            "state": Delivery.State.DELIVERED,
            "delivered_at": result.ended_at,
            "next_attempt_at": None,
        }
    if delivery.is_manual:
        rests = Delivery.State.DELIVERED if delivery.was_delivered else Delivery.State.DEAD
        return made | {"state": rests, "next_attempt_at": None}
    delays = [timedelta(seconds=seconds) for seconds in settings.WEBHOOK_RETRY_DELAYS]
    delay = delay_before(delivery.attempts_made + 2, jitter=result.jitter, delays=delays)
    if delay is None:
        return made | {"state": Delivery.State.DEAD, "next_attempt_at": None}
    return made | {"state": Delivery.State.WAITING, "next_attempt_at": result.ended_at + delay}


def _attempt(result: Finished) -> Attempt:
    exchange, delivery = result.exchange, result.delivery
    return Attempt(
        delivery_id=delivery.id,
        number=delivery.number,
        is_manual=delivery.is_manual,
        started_at=result.started_at,
        address=exchange.address,
        dns_ms=exchange.dns_ms,
        connect_ms=exchange.connect_ms,
        wait_ms=exchange.wait_ms,
        total_ms=exchange.total_ms,
        status=exchange.status,
        error=exchange.error,
        explanation=exchange.explanation,
        excerpt=exchange.excerpt,
    )
