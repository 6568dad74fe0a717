"""Publish events: insert their deliveries in the database transaction of the outcome.

`webhooks.copied_publishing` does the same in a sandbox, where listeners receive copies. `webhooks.services` has the
one that applies.
"""

import json
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from kit.db.prepared_statements import Lookup, insert
from webhooks import wake_up
from webhooks.models import Delivery, Endpoint, Event
from webhooks.representation import WEBHOOK_EVENT, Envelope

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
    for row in prepare(new, endpoint, now=now):
        store_one(row)


def publish_all(events: Iterable[NewEvent], *, now: datetime) -> None:
    """Insert the deliveries of several events in a few statements, as `publish` does for one."""
    endpoints = Endpoints()
    store([row for each in events for row in prepare(each, endpoints.of(each.business_id), now=now)])


def prepare(new: NewEvent, endpoint: Endpoint | None, *, now: datetime) -> list[Delivery]:
    """Return the delivery row of an event. The list is empty without a subscribed endpoint."""
    if endpoint is None or not endpoint.is_subscribed_to(new.event):
        return []
    return [new_delivery(new, endpoint, now=now)]


class Endpoints:
    """The endpoints of several businesses, each looked up once."""

    def __init__(self) -> None:
        self._found: dict[UUID, Endpoint | None] = {}

    def of(self, business_id: UUID) -> Endpoint | None:
        if business_id not in self._found:
            self._found[business_id] = endpoint_of(business_id)
        return self._found[business_id]


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
