"""Who belongs to a business: invited by e-mail, given a role, removed.

What may leave a business without an owner runs under a lock on the business, so that of two owners who
remove each other at the same moment one stays.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from merchants import audit
from merchants.audit import Actor
from merchants.models import Business, Invitation, Member, User

VALID_FOR = timedelta(days=7)


class AlreadyMember(Exception):
    """The person with that e-mail address belongs to the business."""


class LastOwner(Exception):
    """A business keeps at least one owner."""


class InvitationHasEnded(Exception):
    """It was taken, withdrawn or replaced, or it is too old."""


class OtherPerson(Exception):
    """The e-mail address has an account, and it is not the one that asks: sign in with it first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An invitation with what can be read only now: the token of its link."""

    invitation: Invitation
    token: str


@transaction.atomic
def invite(*, business: Business, email: str, role: str, inviter: User, actor: Actor, now: datetime) -> Offer:
    """Offer a place in a business; an earlier offer to the same address ends.

    :raises AlreadyMember: it has one
    """
    _lock(business)
    email = email.strip().lower()
    if Member.objects.filter(business=business, user__email__iexact=email).exists():
        raise AlreadyMember
    Invitation.objects.filter(business=business, email=email, ended_at__isnull=True).update(ended_at=now)
    token = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        business=business,
        email=email,
        role=role,
        token_hash=_hash(token),
        invited_by=inviter,
        created_at=now,
        expires_at=now + VALID_FOR,
    )
    audit.record(
        action="member.invited", actor=actor, business=business, target=email, after={"role": role}, now=now
    )
    return Offer(invitation=invitation, token=token)


@transaction.atomic
def withdraw(*, invitation: Invitation, actor: Actor, now: datetime) -> None:
    """End an offer that nobody has taken.

    :raises InvitationHasEnded: somebody was faster
    """
    if not Invitation.objects.filter(pk=invitation.pk, ended_at__isnull=True).update(ended_at=now):
        raise InvitationHasEnded
    audit.record(
        action="member.invitation_withdrawn",
        actor=actor,
        business=invitation.business,
        target=invitation.email,
        now=now,
    )


def find_invitation(token: str, *, now: datetime) -> Invitation:
    """Return what a link offers.

    :raises InvitationHasEnded: nothing, or nothing any more
    """
    invitation = (
        Invitation.objects.select_related("business", "invited_by").filter(token_hash=_hash(token)).first()
    )
    if invitation is None or not invitation.is_open(at=now):
        raise InvitationHasEnded
    return invitation


@transaction.atomic
def join(
    *,
    token: str,
    person: User | None,
    name: str = "",
    password: str | None = None,
    address: str | None,
    now: datetime,
) -> Member:
    """Take the place that a link offers: as the person who is signed in, or with a new account.

    :raises InvitationHasEnded: somebody was faster, or it is too old
    :raises OtherPerson: its address has an account, and this is not its session
    """
    invitation = find_invitation(token, now=now)
    _lock(invitation.business)
    if not Invitation.objects.filter(pk=invitation.pk, ended_at__isnull=True).update(ended_at=now):
        raise InvitationHasEnded
    owner_of_address = User.objects.filter(email__iexact=invitation.email).first()
    if owner_of_address is not None and owner_of_address != person:
        raise OtherPerson
    joining = owner_of_address or User.objects.create_user(invitation.email, password, name=name)
    member, _ = Member.objects.get_or_create(
        business=invitation.business, user=joining, defaults={"role": invitation.role}
    )
    audit.record(
        action="member.joined",
        actor=Actor(name=joining.email, address=address),
        business=invitation.business,
        target=joining.email,
        after={"role": member.role},
        now=now,
    )
    return member


@transaction.atomic
def change_role(*, member: Member, role: str, actor: Actor, now: datetime) -> None:
    """Give a member another role.

    :raises LastOwner: nobody else is an owner
    """
    locked = _lock_member(member)
    if locked.role == role:
        return  # it is so already: nothing to tell
    if locked.role == Member.Role.OWNER:
        _require_another_owner(locked)
    before, locked.role = locked.role, role
    locked.save(update_fields=["role"])
    audit.record(
        action="member.role_changed",
        actor=actor,
        business=locked.business,
        target=locked.user.email,
        before={"role": before},
        after={"role": role},
        now=now,
    )


@transaction.atomic
def remove(*, member: Member, actor: Actor, now: datetime) -> None:
    """End a membership.

    :raises LastOwner: nobody else is an owner
    """
    locked = _lock_member(member)
    if locked.role == Member.Role.OWNER:
        _require_another_owner(locked)
    locked.delete()
    audit.record(
        action="member.removed",
        actor=actor,
        business=locked.business,
        target=locked.user.email,
        before={"role": locked.role},
        now=now,
    )


def _lock(business: Business) -> None:
    Business.objects.select_for_update().get(pk=business.pk)


def _lock_member(member: Member) -> Member:
    """Lock the business, then read the member again: it may have changed.

    :raises Member.DoesNotExist: it was removed in the meantime
    """
    _lock(member.business)
    return Member.objects.select_related("business", "user").get(pk=member.pk)


def _require_another_owner(member: Member) -> None:
    owners = Member.objects.filter(business=member.business, role=Member.Role.OWNER, user__is_active=True)
    if not owners.exclude(pk=member.pk).exists():
        raise LastOwner


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
