"""MFA reset: an operator removes the second factors of a user who has lost them."""

from dataclasses import dataclass
from datetime import datetime

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.db import transaction

from merchants.models import Business, User
from merchants.people import audit
from merchants.people.audit import Actor


class UnknownUser(Exception):
    """No user has this email address."""


class NothingToReset(Exception):
    """The user has no second factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What a reset removes: the types of the user's second factors, one entry for each, and open sessions."""

    user: User
    factors: list[str]
    sessions: list[UserSession]


def access_of(email: str) -> Access:
    """Return what a reset would remove.

    :raises UnknownUser: no user has this email address
    :raises NothingToReset: there is no second factor to remove
    """
    user = User.objects.with_email(email)
    if user is None:
        raise UnknownUser
    factors = list(Authenticator.objects.filter(user=user).order_by("pk").values_list("type", flat=True))
    if not factors:
        raise NothingToReset
    sessions = [each for each in UserSession.objects.filter(user=user) if each.exists()]
    return Access(user=user, factors=factors, sessions=sessions)


@transaction.atomic
def reset(*, email: str, reason: str, actor: Actor, now: datetime) -> Access:
    """Remove every second factor of a user, end their sessions, and record it in each of their businesses.

    Sessions end because a lost device may still be signed in.

    :raises UnknownUser: no user has this email address
    :raises NothingToReset: there is no second factor to remove
    """
    removed = access_of(email)
    Authenticator.objects.filter(user=removed.user).delete()
    for session in removed.sessions:
        session.end()
    businesses: list[Business | None] = [*Business.objects.filter(members__user=removed.user).order_by("pk")]
    for business in businesses or [None]:
        audit.record(
            action="second_factor.reset",
            actor=actor,
            business=business,
            target=removed.user.email,
            before={"factors": sorted(set(removed.factors)), "sessions": len(removed.sessions)},
            after={"factors": [], "sessions": 0, "reason": reason},
            now=now,
        )
    return removed
