"""Which users must have a second factor: an authenticator app or a passkey."""

from allauth.account.internal.flows.login import get_authentication_records
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.http import HttpRequest

from merchants.models import Member, User

FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)


def has_second_factor(user: User) -> bool:
    return bool(Authenticator.objects.filter(user=user, type__in=FACTORS).exists())


def must_set_up(request: HttpRequest, user: User, *, role: str | None = None) -> bool:
    """Return whether the user must set up a second factor first.

    Owners and our own staff must have one if SECOND_FACTOR_REQUIRED is set, as it is in production.
    """
    if not settings.SECOND_FACTOR_REQUIRED or not (user.is_staff or role == Member.Role.OWNER):
        return False
    records = get_authentication_records(request, user)
    if any(record["method"] == "mfa" for record in records):
        return False  # used in this session: no query needed
    return not has_second_factor(user)
