"""Who may come in: e-mail and password, guessed at no more than a few times."""

from datetime import datetime

from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login
from django.contrib.auth import authenticate
from django.http import HttpRequest, HttpResponse

from dashboard import people_audit, throttle
from dashboard.throttle import Limit, TooManyFailures
from merchants.callers import client_address
from merchants.models import User

PER_EMAIL = Limit("email", 5)
PER_ADDRESS = Limit("address", 20)


class SignInRefused(Exception):
    """The e-mail or the password is wrong, or the account is closed. Nobody is told which."""


def sign_in(
    request: HttpRequest, *, email: str, password: str, next_path: str, now: datetime
) -> HttpResponse:
    """Check a password and open a session under a new key; or ask for the second factor where there is one.

    :raises SignInRefused: e-mail and password do not go together
    :raises TooManyFailures: nothing was checked
    """
    slots = _take_slots(email=email, address=client_address(request), now=now)
    user = authenticate(request, username=email, password=password)
    if not isinstance(user, User):
        people_audit.record(request, "session.sign_in_failed", user=_find(email), now=now)
        raise SignInRefused
    throttle.give_back(slots)
    login = Login(user=user, email=user.email, redirect_url=next_path)
    response: HttpResponse = perform_password_login(request, {"email": user.email}, login)
    return response


def _take_slots(*, email: str, address: str, now: datetime) -> list[str]:
    slots = PER_ADDRESS.take(address, now=now)
    try:
        # Upper case first: some letters are the same to a database only when they are capitals.
        return slots + PER_EMAIL.take(email.upper().lower(), now=now)
    except TooManyFailures:
        throttle.give_back(slots)  # refused unread: no failure of this address
        raise


def _find(email: str) -> User | None:
    return User.objects.filter(email__iexact=email).first() if email else None
