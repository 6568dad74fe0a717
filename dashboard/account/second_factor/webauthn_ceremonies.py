"""WebAuthn ceremonies: each belongs to one purpose and one user, and its challenge is used once.

allauth stores the state of a ceremony in the session under one key for all purposes, until one succeeds. So a challenge
of the second step, or of the account page, could complete a sign-in without a password. Here the state is removed from
the session after each page, labelled, and restored only for a request to the same page.
"""

import time
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum
from functools import wraps

from allauth.account.internal.stagekit import unstash_login
from allauth.mfa.webauthn.internal.auth import STATE_SESSION_KEY
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from merchants.people import attempt_limits
from merchants.people.attempt_limits import Limit, LimitReached

View = Callable[..., HttpResponseBase]

BEGUN = "passkey_ceremony"  # key in the session
LIFETIME = timedelta(minutes=10)
ONE_USE = Limit("passkey-challenge", 1, 2 * LIFETIME)


class Purpose(StrEnum):
    SIGN_IN = "sign in"  # in place of the password
    SECOND_STEP = "second step"  # after the password
    REAUTHENTICATION = "reauthentication"
    REGISTRATION = "registration"


def ceremony(purpose: Purpose, view: View) -> View:
    """Restore, for a view of allauth, the state of a ceremony that the same user began on the same page."""

    @wraps(view)
    def shown(request: HttpRequest, *args: object, **named: object) -> HttpResponseBase:
        request.session.pop(STATE_SESSION_KEY, None)
        if request.method == "POST":
            _resume(request, purpose)
        response = view(request, *args, **named)
        _label(request, purpose)
        return response

    return shown


def _resume(request: HttpRequest, purpose: Purpose) -> None:
    """Restore the state, unless it belongs to another page or user, has expired or was used."""
    begun = request.session.pop(BEGUN, None)
    if begun is None or begun["for"] != [purpose, _user(request, purpose)]:
        return
    if time.time() - begun["at"] > LIFETIME.total_seconds():
        return
    try:
        # A row, not only the session: two requests of one session may run at the same time.
        attempt_limits.take(ONE_USE.of(begun["state"]["challenge"]), now=timezone.now())
    except LimitReached:
        return
    request.session[STATE_SESSION_KEY] = begun["state"]


def _label(request: HttpRequest, purpose: Purpose) -> None:
    state = request.session.pop(STATE_SESSION_KEY, None)
    if state is not None:
        user = _user(request, purpose)
        request.session[BEGUN] = {"for": [purpose, user], "state": state, "at": time.time()}


def _user(request: HttpRequest, purpose: Purpose) -> str:
    if purpose == Purpose.SIGN_IN:
        return ""  # the passkey identifies the user
    if purpose == Purpose.SECOND_STEP:
        login = unstash_login(request, peek=True)
        return str(login.user.pk) if login else ""
    return str(request.user.pk)
