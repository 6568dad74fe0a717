"""Listeners of a sandbox: developers' machines that poll for copies of a business's events."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from rest_framework import status

from kit.api.errors import Problem
from merchants.models import Business
from webhooks.listeners import listener_copies
from webhooks.listeners.listener_keys import hash_key
from webhooks.listeners.listener_waits import Wait, waits
from webhooks.models import Listener, ListenerCopy

MOST = 5  # listeners of a business
LIFE = timedelta(hours=1)  # after the last poll
PROLONGED_EVERY = timedelta(seconds=10)  # so that a poll which finds nothing writes nothing
LATER = 1  # seconds until the next poll, of one that may not wait


class TooManyListeners(Problem):
    """The business has as many live listeners as it may have."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "invalid_state"
    default_detail = f"There are {MOST} listeners already. End one of them, or use its name."


class Begun(NamedTuple):
    """A listener that is live, with the key that signs its copies."""

    listener: Listener
    is_new: bool
    waiting: int  # unacknowledged copies

    @property
    def hash_key(self) -> str:
        return hash_key(self.listener.business_id, self.listener.name)


@dataclass(frozen=True, slots=True)
class Polled:
    """What a poll returns."""

    copies: Sequence[ListenerCopy] = ()
    waiting: int = 0  # unacknowledged copies, including those returned
    dropped: int = 0
    poll_after: int = 0  # seconds


@transaction.atomic
def begin(*, business: Business, name: str, events: Sequence[str], now: datetime) -> Begun:
    """Create a listener, or change the events of the live one with this name, which keeps its copies.

    :raises TooManyListeners: a new one would be too many
    """
    Business.objects.select_for_update(no_key=True).get(pk=business.pk)  # parallel calls are counted in turn
    own = Listener.objects.filter(business=business)
    own.filter(expires_at__lte=now).delete()
    # Without the lock, it could end before it is saved.
    listener = own.select_for_update(no_key=True).filter(name=name).first()
    if listener is None and own.count() >= MOST:
        raise TooManyListeners
    is_new = listener is None
    if listener is None:
        listener = Listener(business=business, name=name, created_at=now)
    listener.events, listener.expires_at = sorted(events), now + LIFE
    listener.save(update_fields=None if is_new else ["events", "expires_at"])
    listener_copies.drop_oldest(listener.pk)
    return Begun(listener, is_new=is_new, waiting=listener_copies.count(listener.pk))


def find(*, business: Business, name: str, now: datetime) -> Listener | None:
    """Return the live listener of a business with this name."""
    return Listener.objects.filter(business=business, name=name, expires_at__gt=now).first()


def live(business: Business, *, now: datetime) -> list[Begun]:
    """Return the live listeners of a business, by name."""
    found = Listener.objects.filter(business=business, expires_at__gt=now).order_by("name")
    return [Begun(one, is_new=False, waiting=listener_copies.count(one.pk)) for one in found]


def poll(
    listener: Listener, *, acknowledged: Collection[UUID], seconds: float, now: datetime
) -> Polled | None:
    """Delete acknowledged copies and return the oldest others, waiting for one if there is none.

    Waits outside of any database transaction. Returns None if the listener has ended.
    """
    is_to_be_prolonged = listener.expires_at < now + LIFE - PROLONGED_EVERY
    if (acknowledged or is_to_be_prolonged) and not _acknowledge(listener.pk, acknowledged, now=now):
        return None
    ended = waits.until(lambda: listener_copies.has_any(listener.pk), listener=listener.pk, seconds=seconds)
    if ended is Wait.FOUND:
        return _take(listener.pk)
    return Polled(dropped=listener.dropped, poll_after=LATER if ended is Wait.TURNED_AWAY else 0)


@transaction.atomic
def _acknowledge(listener_id: int, event_ids: Collection[UUID], *, now: datetime) -> bool:
    """Delete the acknowledged copies and prolong the listener's life. Return False if it has ended."""
    if listener_copies.lock(listener_id) is None:
        return False
    listener_copies.acknowledge(listener_id, event_ids)
    Listener.objects.filter(pk=listener_id).update(expires_at=now + LIFE)
    return True


@transaction.atomic
def _take(listener_id: int) -> Polled | None:
    listener = listener_copies.lock(listener_id)
    if listener is None:
        return None
    listener_copies.drop_oldest(listener_id)
    taken = listener_copies.take(listener_id)
    listener.refresh_from_db(fields=["dropped"])
    return Polled(
        copies=taken,
        waiting=listener_copies.count(listener_id),
        dropped=listener.dropped,
    )


@transaction.atomic
def end(listener: Listener) -> bool:
    """Delete a listener and its copies. Return False if it has ended already."""
    found = listener_copies.lock(listener.pk)
    if found is not None:
        found.delete()
    return found is not None


def old_listeners(*, now: datetime) -> QuerySet[Listener]:
    """Return the listeners that have expired. Their copies are deleted with them."""
    return Listener.objects.filter(expires_at__lte=now)


def old_copies(*, now: datetime) -> QuerySet[ListenerCopy]:  # noqa: ARG001  (all are old)
    """Return copies whose listener ended while an outcome inserted them."""
    alive = Listener.objects.filter(pk=OuterRef("listener"))
    return ListenerCopy.objects.filter(~Exists(alive))
