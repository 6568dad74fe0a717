"""Who belongs to a business: invited by e-mail, given a role, removed.

What may leave a business without an owner runs under a lock on the business, so that of two owners who
remove each other at the same moment one stays.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.crypto import constant_time_compare, salted_hmac

from merchants import audit, roles, throttle
from merchants.audit import Actor
from merchants.models import Business, Invitation, Member, User
from merchants.throttle import Limit

VALID_FOR = timedelta(days=7)

# Invitations, and with them mails to people who did not ask for one
DAY = timedelta(days=1)
PER_BUSINESS = Limit("invitations-business", 100, DAY)
PER_INVITER = Limit("invitations-inviter", 50, DAY)
PER_BUSINESS_AND_ADDRESS = Limit("invitations-business-address", 5, DAY)
PER_ADDRESS = Limit("invitations-address", 20, DAY)
# Further mails of one invitation, which whoever holds the link asks for
MAILS_PER_INVITATION = Limit("invitation-mails", 3, DAY)


class AlreadyMember(Exception):
    """The person with that e-mail address belongs to the business."""


class LastOwner(Exception):
    """A business keeps at least one owner."""


class InvitationHasEnded(Exception):
    """It was taken, withdrawn or replaced, or it is too old."""


class MayNotInvite(Exception):
    """The inviter is no longer a member of the business who may invite to this role."""


class AddressNotProven(Exception):
    """The address has no account, and the link is not the one that was mailed to it."""


class OtherPerson(Exception):
    """The e-mail address has an account, and it is not the one that asks: sign in with it first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An invitation with what can be read only now: the token of its link.

    The inviter may see `token`. `mailed_token` goes to the invited address alone: it proves the address.
    """

    invitation: Invitation
    token: str

    @property
    def mailed_token(self) -> str:
        return mailed_token(self.invitation, self.token)


@transaction.atomic
def invite(*, business: Business, email: str, role: str, inviter: User, actor: Actor, now: datetime) -> Offer:
    """Offer a place in a business; an earlier offer to the same address ends.

    :raises AlreadyMember: it has one
    :raises MayNotInvite: the inviter was removed or demoted in the meantime
    :raises LimitReached: too many invitations in a day: of the business, of the inviter or to the address
    """
    _lock(business)
    if not _may_invite(inviter, business, role=role):
        raise MayNotInvite
    email = email.strip().lower()
    if Member.objects.filter(business=business, user__email__iexact=email).exists():
        raise AlreadyMember
    throttle.take(
        PER_BUSINESS.of(business.pk),
        PER_INVITER.of(inviter.pk),
        PER_BUSINESS_AND_ADDRESS.of(business.pk, email),
        PER_ADDRESS.of(email),
        now=now,
    )
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
    shared, _, _ = token.partition(".")
    invitation = (
        Invitation.objects.select_related("business", "invited_by").filter(token_hash=_hash(shared)).first()
    )
    if (
        invitation is None
        or not invitation.is_open(at=now)
        or not _may_invite(invitation.invited_by, invitation.business, role=invitation.role)
    ):
        raise InvitationHasEnded
    return invitation


def proves_address(invitation: Invitation, token: str) -> bool:
    """Tell whether a link is the one that was mailed to the invited address, and shown to nobody."""
    _, _, proof = token.partition(".")
    return constant_time_compare(proof, _proof(invitation))


def mailed_token(invitation: Invitation, token: str) -> str:
    """Return the token of the link that only a mail to the invited address may hold."""
    shared, _, _ = token.partition(".")
    return f"{shared}.{_proof(invitation)}"


def count_mail(invitation: Invitation, *, now: datetime) -> None:
    """Count a further mail of an invitation.

    :raises LimitReached: too many in a day, of this invitation or to its address
    """
    throttle.take(PER_ADDRESS.of(invitation.email), MAILS_PER_INVITATION.of(invitation.pk), now=now)


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

    The inviter must still be allowed to invite: this is asked again under the lock.

    :raises InvitationHasEnded: it was taken, ended with its inviter's rights, or is too old
    :raises AddressNotProven: a new account needs the link that was mailed
    :raises OtherPerson: its address has an account, and this is not its session
    """
    invitation = find_invitation(token, now=now)
    _lock(invitation.business)
    if not _may_invite(invitation.invited_by, invitation.business, role=invitation.role):
        raise InvitationHasEnded
    if not Invitation.objects.filter(pk=invitation.pk, ended_at__isnull=True).update(ended_at=now):
        raise InvitationHasEnded
    owner_of_address = User.objects.filter(email__iexact=invitation.email).first()
    if owner_of_address is not None and owner_of_address != person:
        raise OtherPerson
    if owner_of_address is None and not proves_address(invitation, token):
        raise AddressNotProven
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
    """Give a member another role. Open invitations that the new role may not make end.

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
    _end_invitations_of(locked, role=role, actor=actor, now=now)


@transaction.atomic
def remove(*, member: Member, actor: Actor, now: datetime) -> None:
    """End a membership, and with it the open invitations that the member made.

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
    _end_invitations_of(locked, role=None, actor=actor, now=now)


def _lock(business: Business) -> None:
    Business.objects.select_for_update().get(pk=business.pk)


def _lock_member(member: Member) -> Member:
    """Lock the business, then read the member again: it may have changed.

    :raises Member.DoesNotExist: it was removed in the meantime
    """
    _lock(member.business)
    return Member.objects.select_related("business", "user").get(pk=member.pk)


def _may_invite(inviter: User | None, business: Business, *, role: str) -> bool:
    """Tell whether a person may invite to a role of a business, as the database has it now."""
    if inviter is None:
        return False
    member = Member.objects.filter(business=business, user=inviter, user__is_active=True).first()
    return member is not None and roles.may_invite(member.role, to=role)


@transaction.atomic
def end_invitations_by(*, inviter: User, actor: Actor, now: datetime) -> None:
    """End the open invitations of a person whose account was closed, in every business."""
    for member in Member.objects.filter(user=inviter).select_related("business", "user").order_by("business"):
        _lock(member.business)
        _end_invitations_of(member, role=None, actor=actor, now=now)


def _end_invitations_of(member: Member, *, role: str | None, actor: Actor, now: datetime) -> None:
    """End a person's open invitations to a business that the person's role, or none, may not make."""
    made = Invitation.objects.filter(
        business=member.business, invited_by=member.user, ended_at__isnull=True
    ).order_by("pk")
    for invitation in made:
        if role is not None and roles.may_invite(role, to=invitation.role):
            continue
        invitation.ended_at = now
        invitation.save(update_fields=["ended_at"])
        audit.record(
            action="member.invitation_ended",
            actor=actor,
            business=member.business,
            target=invitation.email,
            after={"invited_by": member.user.email},
            now=now,
        )


def _require_another_owner(member: Member) -> None:
    owners = Member.objects.filter(business=member.business, role=Member.Role.OWNER, user__is_active=True)
    if not owners.exclude(pk=member.pk).exists():
        raise LastOwner


def _proof(invitation: Invitation) -> str:
    key = f"{invitation.pk}:{invitation.email}:{invitation.token_hash}"
    return salted_hmac("merchants.team.mailed", key, algorithm="sha256").hexdigest()


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
