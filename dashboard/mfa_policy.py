"""What a person has besides a password: an authenticator app, or a passkey."""

from allauth.account.internal.flows.login import get_authentication_records
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.http import HttpRequest

from merchants.models import Member, User

FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)


def has_second_factor(user: User) -> bool:
    return bool(Authenticator.objects.filter(user=user, type__in=FACTORS).exists())


def must_set_up(request: HttpRequest, user: User, *, role: str | None = None) -> bool:
    """Tell whether this person has to set up a second factor before anything else.

    Owners and our own staff must have one where SECOND_FACTOR_REQUIRED says so: in production.
    """
    if not settings.SECOND_FACTOR_REQUIRED or not (user.is_staff or role == Member.Role.OWNER):
        return False
    given = get_authentication_records(request, user)
    if any(record["method"] == "mfa" for record in given):
        return False  # came in with one: no need to ask the database
    return not has_second_factor(user)
