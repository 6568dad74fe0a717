"""Team of a business: invite members by e-mail, change their roles, remove them.

Changes that could leave a business without an owner lock the business, so if two owners remove each other at the same
time, one stays.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.crypto import constant_time_compare, salted_hmac

from kit import hashed_tokens
from kit.text.email_addresses import canonical
from merchants.models import Business, Invitation, Member, User
from merchants.people import attempt_limits, audit, roles
from merchants.people.attempt_limits import Limit
from merchants.people.audit import Actor
from merchants.people.roles import Permission

VALID_FOR = timedelta(days=7)

# Invitations, each with a mail to a person who hasn't asked for it
DAY = timedelta(days=1)
PER_BUSINESS = Limit("invitations-business", 100, DAY)
PER_INVITER = Limit("invitations-inviter", 50, DAY)
PER_BUSINESS_AND_ADDRESS = Limit("invitations-business-address", 5, DAY)
PER_ADDRESS = Limit("invitations-address", 20, DAY)
# Repeated mails of one invitation, at the request of a holder of its link
MAILS_PER_INVITATION = Limit("invitation-mails", 3, DAY)


class AlreadyMember(Exception):
    """The person with that e-mail address is already a member."""


class LastOwner(Exception):
    """The change would leave the business without an owner."""


class InvitationHasEnded(Exception):
    """The invitation was accepted, withdrawn or replaced, or has expired."""


class MayNotInvite(Exception):
    """The inviter is no longer a member with the right to invite to this role."""


class MayNotManage(Exception):
    """The actor is no longer a member with the right to manage the team."""


class AddressNotProven(Exception):
    """The address has no account, and the link isn't the one mailed to it."""


class OtherPerson(Exception):
    """The e-mail address belongs to another account than the one signed in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A new invitation with the token of its link, which isn't stored.

    The inviter may see `token`. `mailed_token` is sent only to the invited address, and proves the address.
    """

    invitation: Invitation
    token: str

    @property
    def mailed_token(self) -> str:
        return mailed_token(self.invitation, self.token)


@transaction.atomic
def invite(*, business: Business, email: str, role: str, inviter: User, actor: Actor, now: datetime) -> Offer:
    """Invite an e-mail address. An earlier invitation of the same address ends.

    :raises AlreadyMember: the address belongs to a member
    :raises MayNotInvite: the inviter was removed or demoted in the meantime
    :raises LimitReached: the business, the inviter or the address reached its daily limit
    """
    _lock(business)
    if not _may_invite(inviter, business, role=role):
        raise MayNotInvite
    email = canonical(email)
    if Member.objects.filter(business=business, user__email__iexact=email).exists():
        raise AlreadyMember
    attempt_limits.take(
        PER_BUSINESS.of(business.pk),
        PER_INVITER.of(inviter.pk),
        PER_BUSINESS_AND_ADDRESS.of(business.pk, email),
        PER_ADDRESS.of(email),
        now=now,
    )
    Invitation.objects.filter(business=business, email=email, ended_at__isnull=True).update(ended_at=now)
    token = hashed_tokens.new_token()
    invitation = Invitation.objects.create(
        business=business,
        email=email,
        role=role,
        token_hash=hashed_tokens.hash_of(token),
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
    """Withdraw an open invitation.

    :raises InvitationHasEnded: it was accepted, replaced or withdrawn in the meantime
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
    """Return the invitation of a link.

    :raises InvitationHasEnded: there is none, or it is no longer open
    """
    shared, _, _ = token.partition(".")
    invitation = (
        Invitation.objects.select_related("business", "invited_by")
        .filter(token_hash=hashed_tokens.hash_of(shared))
        .first()
    )
    if (
        invitation is None
        or not invitation.is_open(at=now)
        or not _may_invite(invitation.invited_by, invitation.business, role=invitation.role)
    ):
        raise InvitationHasEnded
    return invitation


def proves_address(invitation: Invitation, token: str) -> bool:
    """Return whether this is the link that was sent only to the invited address."""
    _, _, proof = token.partition(".")
    return constant_time_compare(proof, _proof(invitation))


def mailed_token(invitation: Invitation, token: str) -> str:
    """Return the token of the link for the mail to the invited address. It may not be shown anywhere else."""
    shared, _, _ = token.partition(".")
    return f"{shared}.{_proof(invitation)}"


def count_mail(invitation: Invitation, *, now: datetime) -> None:
    """Count a repeated mail of an invitation.

    :raises LimitReached: this invitation or its address reached its daily limit
    """
    attempt_limits.take(PER_ADDRESS.of(invitation.email), MAILS_PER_INVITATION.of(invitation.pk), now=now)


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
    """Accept an invitation as the signed-in user or with a new account.

    The inviter must still be allowed to invite. This is checked again under the lock.

    :raises InvitationHasEnded: it was used, ended with its inviter's rights, or has expired
    :raises AddressNotProven: a new account needs the mailed link
    :raises OtherPerson: its address has an account, and this is not its session
    """
    invitation = find_invitation(token, now=now)
    _lock(invitation.business)
    if not _may_invite(invitation.invited_by, invitation.business, role=invitation.role):
        raise InvitationHasEnded
    if not Invitation.objects.filter(pk=invitation.pk, ended_at__isnull=True).update(ended_at=now):
        raise InvitationHasEnded
    owner_of_address = User.objects.with_email(invitation.email)
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
def change_role(*, member: Member, role: str, by: User, actor: Actor, now: datetime) -> None:
    """Change a member's role. Open invitations that the new role may not make end.

    :raises MayNotManage: the actor was removed or demoted in the meantime
    :raises Member.DoesNotExist: the member was removed in the meantime
    :raises LastOwner: there is no other owner
    """
    locked = _lock_member(member, by=by)
    if locked.role == role:
        return  # unchanged
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
def remove(*, member: Member, by: User, actor: Actor, now: datetime) -> None:
    """End a membership and the open invitations that the member made.

    :raises MayNotManage: the actor was removed or demoted in the meantime
    :raises Member.DoesNotExist: the member was removed in the meantime
    :raises LastOwner: there is no other owner
    """
    locked = _lock_member(member, by=by)
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


def _lock_member(member: Member, *, by: User) -> Member:
    """Lock the business, then read the actor's role and the member again: both may have changed."""
    _lock(member.business)
    role = _role_of(by, member.business)
    if role is None or not roles.may(role, Permission.MANAGE_TEAM):
        raise MayNotManage
    return Member.objects.select_related("business", "user").get(pk=member.pk)


def _may_invite(inviter: User | None, business: Business, *, role: str) -> bool:
    """Return whether a user may currently invite to a role of a business."""
    inviters_role = _role_of(inviter, business) if inviter else None
    return inviters_role is not None and roles.may_invite(inviters_role, to=role)


def _role_of(user: User, business: Business) -> str | None:
    members = Member.objects.filter(business=business, user=user, user__is_active=True)
    return members.values_list("role", flat=True).first()


@transaction.atomic
def end_invitations_by(*, inviter: User, actor: Actor, now: datetime) -> None:
    """End a user's open invitations in every business, when the account is closed."""
    for member in Member.objects.filter(user=inviter).select_related("business", "user").order_by("business"):
        _lock(member.business)
        _end_invitations_of(member, role=None, actor=actor, now=now)


def _end_invitations_of(member: Member, *, role: str | None, actor: Actor, now: datetime) -> None:
    """End a member's open invitations that the given role may not make: all of them if `role` is None."""
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
    owners = Member.objects.active(member.business, [Member.Role.OWNER])
    if not owners.exclude(pk=member.pk).exists():
        raise LastOwner


def _proof(invitation: Invitation) -> str:
    key = f"{invitation.pk}:{invitation.email}:{invitation.token_hash}"
    return salted_hmac("merchants.people.team.mailed", key, algorithm="sha256").hexdigest()
