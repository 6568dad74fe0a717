"""Publish events and resend deliveries. `endpoints.endpoint_changes` configures endpoints."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Case, F, Q, QuerySet, When

from kit.time.timestamps import until_inclusive, whole_millisecond
from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor
from webhooks import publishing
from webhooks.endpoints import endpoint_changes
from webhooks.listeners import listener_copies
from webhooks.models import RESENT_AT_ANY_TIME, Delivery, DeliveryQuerySet, Endpoint, Event
from webhooks.publishing import NewEvent
from webhooks.sending import wake_up

REPLAYABLE = (*RESENT_AT_ANY_TIME, Delivery.State.WAITING)

publish, publish_all = publishing.publish, publishing.publish_all
configure, rotate_hash_key = endpoint_changes.configure, endpoint_changes.rotate_hash_key
create_endpoint, change_endpoint = endpoint_changes.create, endpoint_changes.change
delete_endpoint = endpoint_changes.delete
refusal_of_url, UnusableEndpoint = endpoint_changes.refusal_of_url, endpoint_changes.UnusableEndpoint
LONGEST_OVERLAP, UrlTaken = endpoint_changes.LONGEST_OVERLAP, endpoint_changes.UrlTaken
MOST_ENDPOINTS, TooManyEndpoints = endpoint_changes.MOST, endpoint_changes.TooManyEndpoints
FirstEndpoint = endpoint_changes.FirstEndpoint


@transaction.atomic
def send_test_event(
    *, business: Business, data: dict[str, Any], now: datetime, number: int = Endpoint.FIRST
) -> Delivery:
    """Send a test event in a single attempt, even if the endpoint is disabled or not subscribed.

    :raises Endpoint.DoesNotExist: the business has no such endpoint
    """
    endpoint = Endpoint.objects.live().get(business=business, number=number)
    event = NewEvent(Event.PAYMENT_SUCCESS, business.pk, subject=None, data=lambda: data)
    delivery = publishing.new_delivery(event, endpoint, now=now)
    delivery.state, delivery.is_manual = Delivery.State.WAITING, True
    delivery.save(force_insert=True)
    if settings.SANDBOX:
        listener_copies.copy_again(delivery, origin=listener_copies.Origin.TEST, now=now)
    transaction.on_commit(wake_up.notify, robust=True)
    return delivery


def replayable(
    *,
    business: Business,
    states: Iterable[str] = (Delivery.State.DEAD,),
    event: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    now: datetime,
    endpoint: Endpoint | None = None,
) -> QuerySet[Delivery]:
    """Return the deliveries that can be resent, oldest first. Both times are inclusive, to the millisecond that is shown.

    Deliveries without a body cannot be resent. Test events have a single attempt.
    """
    wanted = Q(business=business, state__in=[state for state in states if state in REPLAYABLE])
    number = None if endpoint is None else endpoint.number
    bounds = {
        "created_at__gte": since and whole_millisecond(since),
        "created_at__lt": until and until_inclusive(until),
    }
    for name, value in {"event": event, "endpoint_number": number, **bounds}.items():
        if value is not None:
            wanted &= Q(**{name: value})
    return _resendable(at=now).filter(wanted).order_by("created_at", "id")


def replay(
    delivery_ids: Iterable[UUID],
    *,
    actor: Actor,
    now: datetime,
    reason: str = "",
    to_listeners: bool = True,
) -> Iterator[bool]:
    """Resend deliveries with the same id and body and the current key. Yield for each whether it was queued.

    One that waits for its next attempt gets an extra one now, and keeps the planned one. In a sandbox, listeners receive copies of those that were queued, unless `to_listeners` is False.
    """
    for delivery_id in delivery_ids:
        yield _replay_one(delivery_id, actor=actor, now=now, reason=reason, to_listeners=to_listeners)
    wake_up.notify()


def replay_to_listeners(delivery: Delivery, *, now: datetime) -> bool:
    """Copy a delivery to the listeners only. Return whether it can be resent."""
    if not is_replayable(delivery, now=now):
        return False
    listener_copies.copy_again(delivery, origin=listener_copies.Origin.RESEND, now=now)
    return True


def replay_selected(
    selected: Mapping[UUID, int], *, business: Business, actor: Actor, now: datetime
) -> Iterator[bool]:
    """Resend deliveries of a business that have had no attempt since they were selected.

    `selected` has the number of attempts that each delivery had. A form that is submitted twice resends once.
    """
    for delivery_id, attempts in selected.items():
        unchanged = Q(business=business, attempts_made=attempts - F("manual_attempts"))
        yield _replay_one(delivery_id, unchanged, actor=actor, now=now)
    wake_up.notify()


@transaction.atomic
def _replay_one(
    delivery_id: UUID,
    *conditions: Q,
    actor: Actor,
    now: datetime,
    reason: str = "",
    to_listeners: bool = True,
) -> bool:
    found = _resendable(at=now).filter(*conditions, pk=delivery_id)
    queued = found.update(
        planned_at=Case(When(state=Delivery.State.WAITING, then=F("next_attempt_at"))),
        state=Delivery.State.WAITING,
        is_manual=True,
        next_attempt_at=now,
        lease_token=None,
    )
    if queued:
        delivery = Delivery.objects.select_related("business").get(pk=delivery_id)
        audit.record(
            action="webhook.replayed",
            actor=actor,
            business=delivery.business,
            target=str(delivery_id),
            after={"reason": reason} if reason else {},
            now=now,
        )
        if settings.SANDBOX and to_listeners:
            listener_copies.copy_again(delivery, origin=listener_copies.Origin.RESEND, now=now)
    return bool(queued)


def is_replayable(delivery: Delivery, *, now: datetime) -> bool:
    """Return whether this delivery can be resent, unless its endpoint was deleted."""
    return delivery.is_resendable(at=now) and delivery.has_payload and not delivery.is_test


def _resendable(*, at: datetime) -> DeliveryQuerySet:
    sendable = Delivery.objects.with_payload().without_tests().of_live_endpoints()
    return sendable.resendable(at=at)


def make_due_now(delivery_id: UUID, *, now: datetime) -> bool:
    """Make the next attempt of a waiting delivery due now. Return False if it has none or one is in flight."""
    waiting = Delivery.objects.filter(
        pk=delivery_id, state=Delivery.State.WAITING, lease_token=None, next_attempt_at__gt=now
    )
    is_changed = bool(waiting.update(next_attempt_at=now))
    transaction.on_commit(wake_up.notify, robust=True)
    return is_changed
