"""Sign-in with email address and password, with limited attempts."""

from datetime import datetime

from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login
from django.contrib.auth import authenticate
from django.http import HttpRequest, HttpResponse

from dashboard.account import audit
from dashboard.account.sign_in import sign_in_limits
from kit.text.email_addresses import canonical
from merchants.models import User
from merchants.people import attempt_limits


class SignInRefused(Exception):
    """The email address or password is incorrect, or the account is deactivated. The page doesn't say which."""


def sign_in(
    request: HttpRequest, *, email: str, password: str, next_path: str, now: datetime
) -> HttpResponse:
    """Check the password, and start a session with a new key or ask for the second factor.

    :raises SignInRefused: the email address or password is incorrect
    :raises LimitReached: nothing was checked
    """
    email = canonical(email)
    account = User.objects.with_email(email)
    slots = sign_in_limits.take_sign_in(request, email=email, user=account, now=now)
    user = authenticate(request, username=email, password=password)
    if not isinstance(user, User):
        audit.record(request, "session.sign_in_failed", user=account, now=now)
        raise SignInRefused
    attempt_limits.release(slots)
    login = Login(user=user, email=user.email, redirect_url=next_path)
    response: HttpResponse = perform_password_login(request, {"email": user.email}, login)
    return response
