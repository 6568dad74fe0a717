"""Copies of events for listeners: written with each outcome, taken by polls, deleted once they are acknowledged."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import F

from kit.db.prepared_statements import Lookup
from webhooks.models import Delivery, Listener, ListenerCopy

MOST_KEPT = 1_000  # unacknowledged copies of a listener
MOST_TAKEN = 50  # copies of one poll
MOST_BYTES = 1024 * 1024  # of one poll's answer
BYTES_BESIDE_BODY = 400  # of a copy in an answer: ids, names and a moment

Origin = ListenerCopy.Origin
_OF_BUSINESS = Lookup(Listener, "business")


class Copied(NamedTuple):
    """An event and the ids of the listeners that receive a copy of it."""

    event: Delivery
    listeners: Sequence[int]


def listening_to(event: str, business_id: UUID, *, now: datetime) -> list[int]:
    """Return the ids of the live listeners that want an event of a business."""
    return wanting(event, live(business_id, now=now))


def wanting(event: str, listeners: Iterable[Listener]) -> list[int]:
    """Return the ids of the listeners that want an event."""
    return [one.pk for one in listeners if event in one.events]


def live(business_id: UUID, *, now: datetime) -> list[Listener]:
    """Return the listeners of a business that have not expired. Every outcome of a sandbox asks this."""
    found = [one for one in _OF_BUSINESS.find_all(business_id) if one.expires_at > now]
    return sorted(found, key=lambda one: one.pk)


def store(copied: Iterable[Copied], *, origin: str = Origin.EVENT) -> None:
    """Insert the copies of these events in the caller's transaction.

    Locks nothing, so that an outcome never waits for a listener. The limit is applied after the commit.
    """
    rows = [_copy(each.event, listener, origin) for each in copied for listener in each.listeners]
    if rows:
        ListenerCopy.objects.bulk_create(rows)
        limit_after_commit({row.listener_id for row in rows})


def limit_after_commit(listener_ids: Collection[int]) -> None:
    """Delete the oldest copies of listeners that received some, where there are too many, after the commit."""
    if listener_ids:
        transaction.on_commit(partial(_limit, sorted(listener_ids)), robust=True)


def _limit(listener_ids: Iterable[int]) -> None:
    for listener_id in listener_ids:
        drop_oldest(listener_id)


def copy_again(event: Delivery, *, origin: str, now: datetime) -> None:
    """Insert a further copy of an event for each live listener that wants it."""
    store([Copied(event, listening_to(event.event, event.business_id, now=now))], origin=origin)


def _copy(event: Delivery, listener_id: int, origin: str) -> ListenerCopy:
    return ListenerCopy(
        listener_id=listener_id,
        event_id=event.event_id,
        event=event.event,
        origin=origin,
        body=event.body,
        created_at=event.created_at,
    )


def has_any(listener_id: int) -> bool:
    """Return whether a listener has unacknowledged copies. A waiting poll asks this four times a second."""
    return ListenerCopy.objects.filter(listener=listener_id).exists()


def count(listener_id: int) -> int:
    """Return the number of unacknowledged copies."""
    return ListenerCopy.objects.filter(listener=listener_id).count()


def acknowledge(listener_id: int, event_ids: Collection[UUID]) -> None:
    """Delete copies of these events. A resend that no poll has returned yet is kept."""
    if event_ids:
        ListenerCopy.objects.filter(listener=listener_id, event_id__in=event_ids, times__gt=0).delete()


def take(listener_id: int) -> list[ListenerCopy]:
    """Return the oldest unacknowledged copies, as many as fit into one answer, and count that they were returned.

    The caller holds the listener's lock.
    """
    oldest = ListenerCopy.objects.filter(listener=listener_id).order_by("pk")[:MOST_TAKEN]
    taken = list(_fitting(oldest))
    ListenerCopy.objects.filter(pk__in=[copy.pk for copy in taken]).update(times=F("times") + 1)
    for copy in taken:
        copy.times += 1
    return taken


def _fitting(copies: Iterable[ListenerCopy]) -> Iterator[ListenerCopy]:
    """Yield the first copy, and those after it that fit into the same answer."""
    size = 0
    for place, copy in enumerate(copies):
        size += len(json.dumps(copy.body)) + BYTES_BESIDE_BODY
        if place and size > MOST_BYTES:
            return
        yield copy


def drop_oldest(listener_id: int) -> None:
    """Delete the oldest copies of a listener that has more than it may have, and count them."""
    if _newest_surplus(listener_id) is None:
        return
    with transaction.atomic():
        lock(listener_id)
        newest = _newest_surplus(listener_id)  # a poll may have deleted copies before the lock
        if newest is not None:
            dropped, _ = ListenerCopy.objects.filter(listener=listener_id, pk__lte=newest).delete()
            Listener.objects.filter(pk=listener_id).update(dropped=F("dropped") + dropped)


def _newest_surplus(listener_id: int) -> int | None:
    """Return the id of the newest copy that is beyond the limit, or None."""
    newest_first = ListenerCopy.objects.filter(listener=listener_id).order_by("-pk")
    return next(iter(newest_first.values_list("pk", flat=True)[MOST_KEPT : MOST_KEPT + 1]), None)


def lock(listener_id: int) -> Listener | None:
    """Lock a listener, so that one poll changes its copies at a time. Return None if it has ended."""
    return Listener.objects.select_for_update(no_key=True).filter(pk=listener_id).first()
