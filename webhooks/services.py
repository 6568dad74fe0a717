"""Configure endpoints, publish events and resend deliveries."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Q, QuerySet
from rest_framework import status

from kit.api.errors import Problem
from kit.db.card_number_fields import refuse_card_number
from merchants.api.api_keys import random_key
from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor
from webhooks import publishing
from webhooks.endpoints import held_deliveries, url_validation
from webhooks.listeners import listener_copies
from webhooks.models import Category, Delivery, DeliveryQuerySet, Endpoint, Event
from webhooks.publishing import NewEvent
from webhooks.sending import wake_up

NO_OVERLAP, LONGEST_OVERLAP = timedelta(0), timedelta(hours=72)  # of a rotation
REPLAYABLE = (Delivery.State.DEAD, Delivery.State.DELIVERED, Delivery.State.HELD)

ENDPOINT_OF = publishing.ENDPOINT_OF  # by the id of a business; `publish_to` needs what it finds
publish, publish_to, publish_all = publishing.publish, publishing.publish_to, publishing.publish_all


class UnusableEndpoint(Problem):
    """The URL or the subscription of an endpoint is invalid. The message says why."""

    status_code = status.HTTP_400_BAD_REQUEST
    default_code = "invalid_request"


@dataclass(frozen=True, slots=True)
class Configured:
    """An endpoint after a change, with its signing key if a new one was generated."""

    endpoint: Endpoint
    new_hash_key: str | None


@transaction.atomic
def configure(
    *,
    business: Business,
    url: str,
    subscribed_events: Sequence[str],
    enabled: bool,
    actor: Actor,
    now: datetime,
) -> Configured:
    """Create or update a business's endpoint. Enabling it releases its held deliveries.

    :raises UnusableEndpoint: the URL or the events are invalid
    """
    _check(url, subscribed_events)
    Business.objects.select_for_update().get(pk=business.pk)  # one configuration at a time
    endpoint = Endpoint.objects.filter(business=business).first()
    wanted = {"url": url, "subscribed_events": sorted(set(subscribed_events)), "enabled": enabled}
    before = {} if endpoint is None else {name: getattr(endpoint, name) for name in wanted}
    configured = _create(business, wanted, now=now) if endpoint is None else _change(endpoint, wanted)
    if enabled:
        held_deliveries.release(business=business, now=now)
        transaction.on_commit(wake_up.notify, robust=True)
    audit.record(
        action="webhook.configured", actor=actor, business=business, before=before, after=wanted, now=now
    )
    return configured


def _create(business: Business, wanted: dict[str, Any], *, now: datetime) -> Configured:
    key = _new_hash_key()
    endpoint = Endpoint.objects.create(
        business=business, hash_key=key, created_at=now, key_made_at=now, **wanted
    )
    return Configured(endpoint, key)


def _change(endpoint: Endpoint, wanted: dict[str, Any]) -> Configured:
    for name, value in wanted.items():
        setattr(endpoint, name, value)
    endpoint.save(update_fields=list(wanted))
    return Configured(endpoint, None)


@transaction.atomic
def rotate_hash_key(
    *, business: Business, actor: Actor, now: datetime, overlap: timedelta = NO_OVERLAP
) -> Configured:
    """Generate a new signing key, also for pending retries. The old one signs beside it until the overlap ends.

    Only the newest old key is kept: one that an earlier overlap kept stops working now.

    :raises Endpoint.DoesNotExist: the business has no endpoint
    """
    endpoint = Endpoint.objects.select_for_update().get(business=business)
    endpoint.previous_hash_key = endpoint.hash_key if overlap else None
    endpoint.previous_key_ends_at = now + overlap if overlap else None
    endpoint.hash_key = _new_hash_key()
    endpoint.key_made_at = now
    endpoint.save(update_fields=["hash_key", "key_made_at", "previous_hash_key", "previous_key_ends_at"])
    hours = overlap / timedelta(hours=1)
    after = {"overlap_hours": hours} if overlap else {}
    audit.record(action="webhook.key_rotated", actor=actor, business=business, after=after, now=now)
    return Configured(endpoint, endpoint.hash_key)


@transaction.atomic
def send_test_event(*, business: Business, data: dict[str, Any], now: datetime) -> Delivery:
    """Send a test event in a single attempt, even if the endpoint is disabled or not subscribed.

    :raises Endpoint.DoesNotExist: the business has no endpoint
    """
    endpoint = Endpoint.objects.get(business=business)
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
) -> QuerySet[Delivery]:
    """Return the deliveries that can be resent, oldest first.

    Deliveries without a body cannot be resent. Test events have a single attempt.
    """
    wanted = Q(business=business, state__in=[state for state in states if state in REPLAYABLE])
    for name, value in {"event": event, "created_at__gte": since, "created_at__lte": until}.items():
        if value is not None:
            wanted &= Q(**{name: value})
    found: QuerySet[Delivery] = _resendable().filter(wanted).order_by("created_at", "id")
    return found


def replay(
    delivery_ids: Iterable[UUID],
    *,
    actor: Actor,
    now: datetime,
    reason: str = "",
    to_listeners: bool = True,
) -> Iterator[bool]:
    """Resend deliveries with the same id and body and the current key. Yield for each whether it was queued.

    In a sandbox, listeners receive copies of those that were queued, unless `to_listeners` is False.
    """
    for delivery_id in delivery_ids:
        yield _replay_one(delivery_id, actor=actor, now=now, reason=reason, to_listeners=to_listeners)
    wake_up.notify()


def replay_to_listeners(delivery: Delivery, *, now: datetime) -> bool:
    """Copy a delivery to the listeners only. Return whether it can be resent."""
    if not is_replayable(delivery):
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
    queued = (
        _resendable()
        .filter(*conditions, pk=delivery_id, state__in=REPLAYABLE)
        .update(state=Delivery.State.WAITING, is_manual=True, next_attempt_at=now, lease_token=None)
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


def is_replayable(delivery: Delivery) -> bool:
    """Return whether this delivery can be resent."""
    return delivery.state in REPLAYABLE and delivery.has_payload and not delivery.is_test


def _resendable() -> DeliveryQuerySet:
    found: DeliveryQuerySet = Delivery.objects.with_payload().without_tests()
    return found


def make_due_now(delivery_id: UUID, *, now: datetime) -> bool:
    """Make the next attempt of a waiting delivery due now. Return False if it has none or one is in flight."""
    waiting = Delivery.objects.filter(
        pk=delivery_id, state=Delivery.State.WAITING, lease_token=None, next_attempt_at__gt=now
    )
    is_changed = bool(waiting.update(next_attempt_at=now))
    transaction.on_commit(wake_up.notify, robust=True)
    return is_changed


def refusal_of_url(url: str, *, strict: bool) -> str | None:
    """Return why a webhook URL is invalid, or None. `strict` applies the rules of production."""
    own_host = urlsplit(settings.PUBLIC_URL).hostname or ""
    return url_validation.refusal(url, strict=strict, own_host=own_host)


def _check(url: str, subscribed_events: Sequence[str]) -> None:
    refusal = refusal_of_url(url, strict=not settings.SANDBOX)
    if refusal:
        raise UnusableEndpoint(refusal)
    try:
        refuse_card_number(url)
    except ValidationError:
        raise UnusableEndpoint("The address may not hold a card number.") from None
    if not subscribed_events or not set(subscribed_events) <= set(Category.values):
        raise UnusableEndpoint(f"Subscribe to one or more of {', '.join(Category.values)}.")


def _new_hash_key() -> str:
    return random_key("whk", length=43)
