"""Guest links: made and revoked by members, opened with their token. Only its hash is stored."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from django.db import transaction
from django.db.models import F

from dashboard.models import GuestLink
from dashboard.statements.months import Month
from kit import hashed_tokens
from merchants.models import Business, Member, User
from merchants.people import audit
from merchants.people.audit import Actor
from merchants.people.roles import GRANTS, Permission

MAKERS = GRANTS[Permission.SHARE_STATEMENTS]


class State(StrEnum):
    """What a link can be used for."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"
    ENDED = "ended"  # its maker may no longer share statements, or the business was closed


class HasEnded(Exception):
    """The link was revoked before."""


@transaction.atomic
def create(
    *,
    business: Business,
    name: str,
    first: Month,
    last: Month,
    valid_days: int,
    maker: User,
    actor: Actor,
    now: datetime,
) -> tuple[GuestLink, str]:
    """Create a link. Return it with its token, which isn't stored."""
    token = hashed_tokens.new_token()
    link = GuestLink.objects.create(
        business=business,
        name=name,
        token_hash=hashed_tokens.hash_of(token),
        first_month=first.day,
        last_month=last.day,
        made_by=maker,
        created_at=now,
        expires_at=now + timedelta(days=valid_days),
    )
    _record("created", link, actor=actor, now=now, months=f"{first} to {last}", days=valid_days)
    return link, token


@transaction.atomic
def revoke(link: GuestLink, *, actor: Actor, now: datetime) -> None:
    """End a link.

    :raises HasEnded: it was revoked before
    """
    if not GuestLink.objects.filter(pk=link.pk, revoked_at__isnull=True).update(revoked_at=now):
        raise HasEnded
    _record("revoked", link, actor=actor, now=now)


def find(token: str) -> GuestLink | None:
    """Return the link with a token, in any state."""
    found = GuestLink.objects.filter(token_hash=hashed_tokens.hash_of(token))
    return found.select_related("business", "made_by").first()


def makers_of(business: Business) -> set[int]:
    """Return the users whose links work: the members who may share statements. A closed business has none."""
    members = Member.objects.active(business, MAKERS)
    return set(members.values_list("user_id", flat=True)) if business.is_active else set()


def state_of(link: GuestLink, makers: set[int], *, now: datetime) -> State:
    if link.revoked_at is not None:
        return State.REVOKED
    if link.expires_at <= now:
        return State.EXPIRED
    return State.ACTIVE if link.made_by_id in makers else State.ENDED


@transaction.atomic
def count_opening(link: GuestLink, *, address: str, now: datetime) -> None:
    """Count that a guest has read a page or a file. The first time is in the activity of the business."""
    this = GuestLink.objects.filter(pk=link.pk)
    is_first = this.filter(times_opened=0).update(times_opened=1, opened_at=now)
    if is_first:
        _record("opened", link, actor=Actor(name="Guest", address=address), now=now)
    else:
        this.update(times_opened=F("times_opened") + 1, opened_at=now)


def _record(what: str, link: GuestLink, *, actor: Actor, now: datetime, **values: object) -> None:
    audit.record(
        action=f"guest_link.{what}",
        actor=actor,
        business=link.business,
        target=link.name,
        after=values,
        now=now,
    )
