"""A person who has lost phone, passkeys and recovery codes: back to the password alone, by an operator."""

from dataclasses import dataclass
from datetime import datetime

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.db import transaction

from merchants import audit
from merchants.audit import Actor
from merchants.models import Business, User


class NoSuchPerson(Exception):
    """Nobody has this e-mail address."""


class NothingToReset(Exception):
    """The person has no second factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """What a person would lose: second factors by kind, once for each of them, and open sessions."""

    user: User
    factors: list[str]
    sessions: list[UserSession]


def holdings_of(email: str) -> Holdings:
    """Return what a reset would take from a person.

    :raises NoSuchPerson: nobody has this e-mail address
    :raises NothingToReset: there is no second factor to remove
    """
    user = User.objects.with_email(email)
    if user is None:
        raise NoSuchPerson
    factors = list(Authenticator.objects.filter(user=user).order_by("pk").values_list("type", flat=True))
    if not factors:
        raise NothingToReset
    sessions = [each for each in UserSession.objects.filter(user=user) if each.exists()]
    return Holdings(user=user, factors=factors, sessions=sessions)


@transaction.atomic
def reset(*, email: str, reason: str, actor: Actor, now: datetime) -> Holdings:
    """Remove every second factor of a person and end the sessions; each of the businesses is told.

    Whoever found the phone may be signed in with it: hence the sessions.

    :raises NoSuchPerson: nobody has this e-mail address
    :raises NothingToReset: there is no second factor to remove
    """
    lost = holdings_of(email)
    Authenticator.objects.filter(user=lost.user).delete()
    for session in lost.sessions:
        session.end()
    businesses: list[Business | None] = [*Business.objects.filter(members__user=lost.user).order_by("pk")]
    for business in businesses or [None]:
        audit.record(
            action="second_factor.reset",
            actor=actor,
            business=business,
            target=lost.user.email,
            before={"factors": sorted(set(lost.factors)), "sessions": len(lost.sessions)},
            after={"factors": [], "sessions": 0, "reason": reason},
            now=now,
        )
    return lost
