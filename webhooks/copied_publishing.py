"""Publish events in a sandbox, where listeners receive copies of them, with or without an endpoint."""

from collections.abc import Iterable
from datetime import datetime

from webhooks import listener_copies
from webhooks.listener_copies import Copied
from webhooks.models import Delivery
from webhooks.publishing import Endpoints, NewEvent, new_delivery, store


def publish(new: NewEvent, *, now: datetime) -> None:
    """Insert the delivery of an event, if the business is subscribed to it, and its copies for listeners."""
    publish_all([new], now=now)


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
        listening = [one.pk for one in listeners[each.business_id] if each.event in one.events]
        if is_delivered or listening:
            made = new_delivery(each, endpoint, now=now)
            deliveries += [made] if is_delivered else []
            copied += [Copied(made, listening)]
    store(deliveries)
    listener_copies.store(copied)
