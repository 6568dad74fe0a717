"""Publish events: insert their deliveries in the database transaction of the outcome.

In a sandbox, listeners receive copies, with or without an endpoint. Production doesn't look for listeners.
"""

import json
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from kit.db.prepared_statements import Lookup, insert
from webhooks import versions
from webhooks.listeners import listener_copies
from webhooks.listeners.listener_copies import Copied
from webhooks.models import Delivery, Endpoint, Event, Listener
from webhooks.representation import WEBHOOK_EVENT, Envelope
from webhooks.sending import wake_up

_ENDPOINTS_OF = Lookup(Endpoint, "business")


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to publish. `subject` is the id of the outcome, or None for a test event.

    `data` builds the event's data. It is not called if nothing receives the event.
    """

    event: Event
    business_id: UUID
    subject: UUID | None
    data: Callable[[], dict[str, Any]]


def publish(new: NewEvent, *, now: datetime) -> None:
    """Insert a delivery of an event for each subscribed endpoint of the business, in the caller's transaction.

    Each outcome has at most one delivery per endpoint.
    """
    rows, copied = _rows_of(new, endpoints_of(new.business_id), _listeners(new.business_id, now=now), now=now)
    for row in rows:
        store_one(row)
    listener_copies.store(copied)


def publish_all(events: Iterable[NewEvent], *, now: datetime) -> None:
    """Insert the deliveries of several events in a few statements, as `publish` does for one."""
    endpoints, listeners = cache(endpoints_of), cache(partial(_listeners, now=now))  # of each business once
    found = [
        _rows_of(each, endpoints(each.business_id), listeners(each.business_id), now=now) for each in events
    ]
    store([row for rows, _ in found for row in rows])
    listener_copies.store(one for _, copied in found for one in copied)


def _listeners(business_id: UUID, *, now: datetime) -> list[Listener]:
    return listener_copies.live(business_id, now=now) if settings.SANDBOX else []


def _rows_of(
    new: NewEvent, endpoints: list[Endpoint], listeners: list[Listener], *, now: datetime
) -> tuple[list[Delivery], list[Copied]]:
    """Return the delivery rows of an event, and its copies: of the first endpoint's delivery, if it has one."""
    new, event_id = replace(new, data=cache(new.data)), uuid.uuid4()
    rows = [row for each in endpoints for row in prepare(new, each, now=now, event_id=event_id)]
    if not (listening := listener_copies.wanting(new.event, listeners)):
        return rows, []
    copied = next((row for row in rows if row.pk == event_id), None)
    return rows, [Copied(copied or new_delivery(new, None, now=now, event_id=event_id), listening)]


def prepare(
    new: NewEvent, endpoint: Endpoint, *, now: datetime, event_id: UUID | None = None
) -> list[Delivery]:
    """Return the row of an event's delivery to an endpoint. The list is empty if it isn't subscribed."""
    if not endpoint.is_subscribed_to(new.event):
        return []
    return [new_delivery(new, endpoint, now=now, event_id=event_id)]


def store_one(delivery: Delivery) -> None:
    """Insert a delivery, and wake a sender up after the commit. Every outcome does this: the statement is prepared."""
    insert(delivery)
    transaction.on_commit(wake_up.notify, robust=True)


def store(deliveries: list[Delivery]) -> None:
    """Insert deliveries, and wake a sender up after the commit."""
    if deliveries:
        Delivery.objects.bulk_create(deliveries)
        transaction.on_commit(wake_up.notify, robust=True)


def endpoints_of(business_id: UUID) -> list[Endpoint]:
    """Return the endpoints of a business, the first one first."""
    live = [each for each in _ENDPOINTS_OF.find_all(business_id) if each.deleted_at is None]
    return sorted(live, key=lambda each: each.number)


def new_delivery(
    new: NewEvent, endpoint: Endpoint | None, *, now: datetime, event_id: UUID | None = None
) -> Delivery:
    """Return an event as the row of its delivery. Its body is final. An event without an id gets one."""
    event_id = event_id or uuid.uuid4()
    is_enabled = endpoint is not None and endpoint.enabled
    number = endpoint.number if endpoint else Endpoint.FIRST
    delivery_id = event_id if number == Endpoint.FIRST else uuid.uuid4()
    data = versions.in_version(endpoint.api_version if endpoint else versions.NEWEST, new.data())
    return Delivery(
        id=delivery_id,
        shared_event_id=None if delivery_id == event_id else event_id,
        business_id=new.business_id,
        endpoint_number=number,
        subject=new.subject,
        event=new.event,
        body=render(
            event_id, new.event, data=data, now=now, is_test=new.subject is None, delivery_id=delivery_id
        ),
        state=Delivery.State.WAITING if is_enabled else Delivery.State.HELD,
        held_at=None if is_enabled else now,
        next_attempt_at=now,
        created_at=now,
    )


def render(
    event_id: UUID,
    event: str,
    *,
    data: dict[str, Any],
    now: datetime,
    is_test: bool = False,
    delivery_id: UUID | None = None,
) -> str:
    """Return the body of an event. All attempts send the same bytes. By default the delivery has the event's id."""
    envelope = WEBHOOK_EVENT.represent(
        Envelope(delivery_id or event_id, event_id, event, data, now, is_test=is_test)
    )
    return json.dumps(envelope, separators=(",", ":"), ensure_ascii=True)
