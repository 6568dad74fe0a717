"""Publish events: insert their deliveries in the database transaction of the outcome.

In a sandbox, listeners receive copies, with or without an endpoint. Production doesn't look for listeners.
"""

import json
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from kit.db.prepared_statements import Lookup, insert
from webhooks.listeners import listener_copies
from webhooks.listeners.listener_copies import Copied
from webhooks.models import Delivery, Endpoint, Event, Listener
from webhooks.representation import WEBHOOK_EVENT, Envelope
from webhooks.sending import wake_up

ENDPOINT_OF = Lookup(Endpoint, "business")


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
    """Insert the delivery of an event in the caller's transaction, if the business is subscribed to it.

    Each outcome has at most one delivery.
    """
    publish_to(endpoint_of(new.business_id), new, now=now)


def publish_to(endpoint: Endpoint | None, new: NewEvent, *, now: datetime) -> None:
    """Publish an event as `publish` does. The caller has looked the endpoint up in the same transaction."""
    rows, copied = _rows_of(new, endpoint, _listeners(new.business_id, now=now), now=now)
    for row in rows:
        store_one(row)
    listener_copies.store(copied)


def publish_all(events: Iterable[NewEvent], *, now: datetime) -> None:
    """Insert the deliveries of several events in a few statements, as `publish` does for one."""
    endpoint, listeners = cache(endpoint_of), cache(partial(_listeners, now=now))  # of each business once
    found = [
        _rows_of(each, endpoint(each.business_id), listeners(each.business_id), now=now) for each in events
    ]
    store([row for rows, _ in found for row in rows])
    listener_copies.store(one for _, copied in found for one in copied)


def _listeners(business_id: UUID, *, now: datetime) -> list[Listener]:
    return listener_copies.live(business_id, now=now) if settings.SANDBOX else []


def _rows_of(
    new: NewEvent, endpoint: Endpoint | None, listeners: list[Listener], *, now: datetime
) -> tuple[list[Delivery], list[Copied]]:
    """Return the delivery row of an event, if there is one, and its copies."""
    rows = prepare(new, endpoint, now=now)
    if not (listening := listener_copies.wanting(new.event, listeners)):
        return rows, []
    return rows, [Copied(each, listening) for each in rows or [new_delivery(new, endpoint, now=now)]]


def prepare(new: NewEvent, endpoint: Endpoint | None, *, now: datetime) -> list[Delivery]:
    """Return the delivery row of an event. The list is empty without a subscribed endpoint."""
    if endpoint is None or not endpoint.is_subscribed_to(new.event):
        return []
    return [new_delivery(new, endpoint, now=now)]


def store_one(delivery: Delivery) -> None:
    """Insert a delivery, and wake a sender up after the commit. Every outcome does this: the statement is prepared."""
    insert(delivery)
    transaction.on_commit(wake_up.notify, robust=True)


def store(deliveries: list[Delivery]) -> None:
    """Insert deliveries, and wake a sender up after the commit."""
    if deliveries:
        Delivery.objects.bulk_create(deliveries)
        transaction.on_commit(wake_up.notify, robust=True)


def endpoint_of(business_id: UUID) -> Endpoint | None:
    return ENDPOINT_OF.find(business_id)


def new_delivery(new: NewEvent, endpoint: Endpoint | None, *, now: datetime) -> Delivery:
    """Return an event as the row of its delivery. Its body is final."""
    event_id = uuid.uuid4()
    is_enabled = endpoint is not None and endpoint.enabled
    return Delivery(
        id=event_id,
        business_id=new.business_id,
        subject=new.subject,
        event=new.event,
        body=render(event_id, new.event, data=new.data(), now=now, is_test=new.subject is None),
        state=Delivery.State.WAITING if is_enabled else Delivery.State.HELD,
        held_at=None if is_enabled else now,
        next_attempt_at=now,
        created_at=now,
    )


def render(event_id: UUID, event: str, *, data: dict[str, Any], now: datetime, is_test: bool = False) -> str:
    """Return the body of an event. All attempts send the same bytes."""
    envelope = WEBHOOK_EVENT.represent(Envelope(event_id, event, data, now, is_test=is_test))
    return json.dumps(envelope, separators=(",", ":"), ensure_ascii=True)
