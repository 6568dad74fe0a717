"""API key pairs: create, rotate with an overlap, revoke. A secret is shown only once, when it is created."""

import secrets
import string
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from merchants.models import ApiKey, Business, User
from merchants.people import audit
from merchants.people.audit import Actor


class KeyHasEnded(Exception):
    """The key pair was revoked or has expired, so it can't be rotated."""


_ALPHABET = string.ascii_letters + string.digits


@transaction.atomic
def create_key(
    *, business: Business, actor: Actor, now: datetime, name: str = "", access: str = ApiKey.Access.FULL
) -> ApiKey:
    """Create a key pair. The returned object has the plain `secret`, which must be shown now and never again."""
    key: ApiKey = ApiKey.objects.create(
        business=business,
        public_id=random_key("pk", length=16),
        secret=random_key("sk", length=43),
        name=name,
        access=access,
        made_by=User.objects.with_email(actor.name),
    )
    audit.record(
        action="api_key.created",
        actor=actor,
        business=business,
        target=key.public_id,
        after={"name": name, "access": access},
        now=now,
    )
    return key


@transaction.atomic
def rotate_keys(*, business: Business, overlap: timedelta, actor: Actor, now: datetime) -> ApiKey:
    """Create a new key pair and expire the older ones after the overlap, or at once if it is zero."""
    ends_at = now + overlap
    # Not `usable`: the keys of an inactive business must expire too, or they would work again once it is active.
    older = list(ApiKey.objects.select_for_update().filter(business=business, revoked_at__isnull=True))
    for key in older:
        if key.expires_at is None or key.expires_at > ends_at:
            _end(key, at=ends_at, actor=actor, now=now)
    return create_key(business=business, actor=actor, now=now, name="rotated")


@transaction.atomic
def rotate_key(*, key: ApiKey, overlap: timedelta, actor: Actor, now: datetime) -> ApiKey:
    """Create a key pair that replaces another, which expires after the overlap.

    :raises KeyHasEnded: the other key was revoked or has expired
    """
    locked = _lock_usable(key, now=now)
    ends_at = now + overlap
    if locked.expires_at is None or locked.expires_at > ends_at:
        _end(locked, at=ends_at, actor=actor, now=now)
    return create_key(business=locked.business, actor=actor, now=now, name=locked.name, access=locked.access)


def _lock_usable(key: ApiKey, *, now: datetime) -> ApiKey:
    locked: ApiKey = ApiKey.objects.select_for_update(of=("self",)).select_related("business").get(pk=key.pk)
    if locked.revoked_at is not None or (locked.expires_at is not None and locked.expires_at <= now):
        raise KeyHasEnded
    return locked


@transaction.atomic
def revoke_key(*, key: ApiKey, actor: Actor, now: datetime) -> None:
    """Revoke a key pair. Its next request gets 401 `unknown_key`."""
    locked = ApiKey.objects.select_for_update().get(pk=key.pk)
    if locked.revoked_at is not None:
        return  # already ended
    locked.revoked_at = now
    locked.save(update_fields=["revoked_at"])
    audit.record(
        action="api_key.revoked", actor=actor, business=locked.business, target=locked.public_id, now=now
    )


def _end(key: ApiKey, *, at: datetime, actor: Actor, now: datetime) -> None:
    before = key.expires_at
    key.expires_at = at
    key.save(update_fields=["expires_at"])
    audit.record(
        action="api_key.expiry_set",
        actor=actor,
        business=key.business,
        target=key.public_id,
        before={"expires_at": before.isoformat() if before else None},
        after={"expires_at": at.isoformat()},
        now=now,
    )


def random_key(prefix: str, *, length: int) -> str:
    """Return `prefix_sandbox_…` or `prefix_live_…`, ending with `length` random letters and digits."""
    kind = "sandbox" if settings.SANDBOX else "live"
    return f"{prefix}_{kind}_" + "".join(secrets.choice(_ALPHABET) for _ in range(length))
