"""Create, change and delete a business's webhook endpoints, and rotate their signing keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Unpack
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max
from rest_framework import status

from kit.api.errors import Problem
from kit.db.card_number_fields import refuse_card_number
from kit.db.rows.columns import save_columns
from merchants.api.api_keys import random_key
from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor, Recorded
from webhooks.endpoints import change_mail, held_deliveries, url_validation
from webhooks.models import SUBSCRIPTIONS, Category, Endpoint, OpenOutage
from webhooks.sending import wake_up

MOST = 10  # endpoints of a business
NO_OVERLAP, LONGEST_OVERLAP = timedelta(0), timedelta(hours=72)  # of a rotation


class UnusableEndpoint(Problem):
    """The URL or the subscription of an endpoint is invalid. The message says why."""

    status_code = status.HTTP_400_BAD_REQUEST
    default_code = "invalid_request"


class UrlTaken(Problem):
    """The business has an endpoint with this URL."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "url_taken"
    default_detail = "Another endpoint has this URL. Change that one, or use another URL."


class TooManyEndpoints(Problem):
    """The business has as many endpoints as it may have."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "limit_reached"
    default_detail = f"There are {MOST} endpoints already. Delete one of them first."


class FirstEndpoint(Problem):
    """The first endpoint can't be deleted."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "invalid_state"
    default_detail = "The first endpoint can't be deleted. Disable it instead."


class KeysMayNotDecide(Problem):
    """The business doesn't allow its API keys to add endpoints or to change URLs."""

    status_code = status.HTTP_403_FORBIDDEN
    default_code = "key_may_not_decide"
    default_detail = (
        "Your business does not let API keys add webhook endpoints or change their URLs. Do it in the dashboard, or "
        "ask an owner of the business to turn on `API keys may change webhook URLs` under Settings."
    )


@dataclass(frozen=True, slots=True)
class Configured:
    """An endpoint after a change, with its signing key if a new one was generated."""

    endpoint: Endpoint
    new_hash_key: str | None


def find(business: Business, endpoint_id: UUID) -> Endpoint | None:
    """Return the endpoint of a business with this public id. Deleted ones aren't found."""
    live = Endpoint.objects.live().filter(business=business)
    return next((each for each in live if each.public_id == endpoint_id), None)


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
    """Create or update a business's first endpoint. Enabling it releases its held deliveries.

    :raises UnusableEndpoint: the URL or the events are invalid
    :raises UrlTaken: another endpoint has the URL
    """
    wanted = {"url": url, "subscribed_events": subscribed_events, "enabled": enabled}
    _lock(business)
    first = Endpoint.objects.first_of(business).first()
    if first is None:
        return _create(business, wanted, actor=actor, now=now)
    return _change(first, wanted, actor=actor, now=now)


@transaction.atomic
def create(
    *, business: Business, wanted: dict[str, Any], actor: Actor, now: datetime, by_key: bool = False
) -> Configured:
    """Create an endpoint: the first one of a business that has none.

    :raises UnusableEndpoint: the URL or the events are invalid
    :raises UrlTaken: another endpoint has the URL
    :raises TooManyEndpoints: the business has ten
    :raises KeysMayNotDecide: an API key asks, and the business doesn't allow that
    """
    _lock(business, by_key=by_key)
    configured = _create(business, {**wanted, "made_by_api": by_key}, actor=actor, now=now)
    if by_key:
        _mail_after_commit(configured.endpoint, "was added", actor)
    return configured


@transaction.atomic
def change(
    endpoint: Endpoint, wanted: dict[str, Any], *, actor: Actor, now: datetime, by_key: bool = False
) -> Endpoint:
    """Change an endpoint. Enabling it releases its held deliveries.

    :raises Endpoint.DoesNotExist: it was deleted
    :raises UnusableEndpoint: the URL or the events are invalid
    :raises UrlTaken: another endpoint has the URL
    :raises KeysMayNotDecide: an API key changes the URL, and the business doesn't allow that
    """
    moves = wanted.get("url", endpoint.url) != endpoint.url
    _lock(endpoint.business, by_key=by_key and moves)
    stored = Endpoint.objects.live().get(pk=endpoint.pk)
    changed = _change(stored, wanted, actor=actor, now=now).endpoint
    if by_key and moves:
        _mail_after_commit(changed, "has another URL", actor)
    return changed


def delete(endpoint: Endpoint, *, actor: Actor, now: datetime) -> None:
    """Delete an endpoint. Its held and waiting deliveries are skipped. Deleting it again changes nothing.

    :raises FirstEndpoint: it is the first one
    """
    if endpoint.is_first:
        raise FirstEndpoint
    with transaction.atomic():
        _lock(endpoint.business)
        if not Endpoint.objects.live().filter(pk=endpoint.pk).update(deleted_at=now, enabled=False):
            return
        OpenOutage.objects.filter(endpoint=endpoint).delete()
        _record("webhook.endpoint_deleted", endpoint, actor=actor, now=now, before={"url": endpoint.url})
    held_deliveries.skip_all(endpoint)  # after the commit, in transactions of its own


@transaction.atomic
def rotate_hash_key(
    *,
    business: Business,
    actor: Actor,
    now: datetime,
    overlap: timedelta = NO_OVERLAP,
    number: int = Endpoint.FIRST,
) -> Configured:
    """Generate a new signing key, also for pending retries. The old one signs beside it until the overlap ends.

    Only the newest old key is kept: one that an earlier overlap kept stops working now.

    :raises Endpoint.DoesNotExist: the business has no such endpoint
    """
    endpoint = Endpoint.objects.live().select_for_update().get(business=business, number=number)
    endpoint.previous_hash_key = endpoint.hash_key if overlap else None
    endpoint.previous_key_ends_at = now + overlap if overlap else None
    endpoint.hash_key = _new_hash_key()
    endpoint.key_made_at = now
    endpoint.save(update_fields=["hash_key", "key_made_at", "previous_hash_key", "previous_key_ends_at"])
    after = {"overlap_hours": overlap / timedelta(hours=1)} if overlap else {}
    _record("webhook.key_rotated", endpoint, actor=actor, now=now, after=after)
    return Configured(endpoint, endpoint.hash_key)


def refusal_of_url(url: str, *, strict: bool) -> str | None:
    """Return why a webhook URL is invalid, or None. `strict` applies the rules of production."""
    own_host = urlsplit(settings.PUBLIC_URL).hostname or ""
    return url_validation.refusal(url, strict=strict, own_host=own_host)


def _lock(business: Business, *, by_key: bool = False) -> None:
    """Allow one change of a business's endpoints at a time.

    :raises KeysMayNotDecide: an API key asks, and the business doesn't allow that
    """
    stored = Business.objects.select_for_update(no_key=True).get(pk=business.pk)
    if by_key and not stored.keys_change_webhooks:
        raise KeysMayNotDecide


def _create(business: Business, wanted: dict[str, Any], *, actor: Actor, now: datetime) -> Configured:
    wanted = _checked(wanted)
    own = Endpoint.objects.filter(business=business)
    _refuse_taken(wanted["url"], own.live())
    if own.live().count() >= MOST:
        raise TooManyEndpoints
    last = own.aggregate(last=Max("number"))["last"]
    key = _new_hash_key()
    endpoint = Endpoint.objects.create(
        business=business,
        number=Endpoint.FIRST if last is None else last + 1,
        hash_key=key,
        created_at=now,
        key_made_at=now,
        **wanted,
    )
    _note(endpoint, before={}, after=wanted, actor=actor, now=now)
    return Configured(endpoint, key)


def _change(endpoint: Endpoint, wanted: dict[str, Any], *, actor: Actor, now: datetime) -> Configured:
    wanted = _checked(wanted)
    others = Endpoint.objects.live().filter(business=endpoint.business_id).exclude(pk=endpoint.pk)
    _refuse_taken(wanted.get("url"), others)
    before = {name: getattr(endpoint, name) for name in wanted}
    moved = {"url_changed_at": now} if wanted.get("url", endpoint.url) != endpoint.url else {}
    save_columns(endpoint, **wanted, **moved)
    _note(endpoint, before=before, after=wanted, actor=actor, now=now)
    return Configured(endpoint, None)


def _note(
    endpoint: Endpoint, *, before: dict[str, Any], after: dict[str, Any], actor: Actor, now: datetime
) -> None:
    """Release what an enabled endpoint holds, and record the change."""
    if endpoint.enabled:
        held_deliveries.release(endpoint, now=now)
        transaction.on_commit(wake_up.notify, robust=True)
    _record("webhook.configured", endpoint, actor=actor, now=now, before=before, after=after)


def _record(action: str, endpoint: Endpoint, **recorded: Unpack[Recorded]) -> None:
    audit.record(action=action, business=endpoint.business, target=endpoint.audit_target, **recorded)


def _refuse_taken(url: str | None, others: Any) -> None:
    taken = others.filter(url=url).first() if url else None
    if taken is not None:
        raise UrlTaken(existing={"id": str(taken.public_id)})


def _checked(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the values of an endpoint, checked, with its subscriptions in order.

    :raises UnusableEndpoint: the URL or the events are invalid
    """
    if "url" in wanted:
        _check_url(wanted["url"])
    if "subscribed_events" not in wanted:
        return wanted
    events = sorted(set(wanted["subscribed_events"]))
    if not events or not set(events) <= set(SUBSCRIPTIONS):
        raise UnusableEndpoint(
            f"Subscribe to one or more of {', '.join(Category.values)}, or to single events."
        )
    return wanted | {"subscribed_events": events}


def _check_url(url: str) -> None:
    refusal = refusal_of_url(url, strict=not settings.SANDBOX)
    if refusal:
        raise UnusableEndpoint(refusal)
    try:
        refuse_card_number(url)
    except ValidationError:
        raise UnusableEndpoint("The address may not hold a card number.") from None


def _mail_after_commit(endpoint: Endpoint, happened: str, actor: Actor) -> None:
    transaction.on_commit(partial(change_mail.mail_owners, endpoint, happened, actor=actor.name), robust=True)


def _new_hash_key() -> str:
    return random_key("whk", length=43)
