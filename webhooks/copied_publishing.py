"""Publish events in a sandbox, where listeners receive copies of them, with or without an endpoint."""

from collections.abc import Iterable
from datetime import datetime

from webhooks import listener_copies
from webhooks.listener_copies import Copied
from webhooks.models import Delivery, Endpoint
from webhooks.publishing import Endpoints, NewEvent, endpoint_of, new_delivery, store, store_one


def publish(new: NewEvent, *, now: datetime) -> None:
    """Insert the delivery of an event, if the business is subscribed to it, and its copies for listeners."""
    publish_to(endpoint_of(new.business_id), new, now=now)


def publish_to(endpoint: Endpoint | None, new: NewEvent, *, now: datetime) -> None:
    """Publish an event as `publish` does. The caller has looked the endpoint up in the same transaction."""
    listening = listener_copies.listening_to(new.event, new.business_id, now=now)
    is_delivered = endpoint is not None and endpoint.is_subscribed_to(new.event)
    if not is_delivered and not listening:
        return
    made = new_delivery(new, endpoint, now=now)
    if is_delivered:
        store_one(made)
    listener_copies.store([Copied(made, listening)])


def publish_all(events: Iterable[NewEvent], *, now: datetime) -> None:
    """Insert the deliveries of several events and their copies in a few statements."""
    wanted = list(events)
    businesses = {each.business_id for each in wanted}
    listeners = {business: listener_copies.live(business, now=now) for business in businesses}
    endpoints = Endpoints()
    deliveries: list[Delivery] = []
    copied: list[Copied] = []
    for each in wanted:
        endpoint = endpoints.of(each.business_id)
        is_delivered = endpoint is not None and endpoint.is_subscribed_to(each.event)
        listening = listener_copies.wanting(each.event, listeners[each.business_id])
        if is_delivered or listening:
            made = new_delivery(each, endpoint, now=now)
            deliveries += [made] if is_delivered else []
            copied += [Copied(made, listening)]
    store(deliveries)
    listener_copies.store(copied)
