"""Known devices: browsers that a user has signed in with before, identified by a signed cookie.

A known device has limits of its own for failed attempts, so a stranger's failures don't lock it out. The cookie gives
no access. It holds the account, a random device id and a hash of the account's password state, so it becomes invalid
when the password changes. It is set when sign-in is complete, second factor included.
"""

import secrets
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from merchants.models import User

REMEMBERED_FOR = timedelta(days=180)
MAX_ACCOUNTS = 5  # users who share a browser
_SALT = "dashboard.account.sign_in.known_devices"
_FIELDS = 3  # account, browser, password state


def device_of(request: HttpRequest, user: User) -> str | None:
    """Return the device id of the browser, if the user has signed in with it before."""
    return next(
        (device for account, device, state in _entries(request) if (account, state) == _account(user)), None
    )


def remember(request: HttpRequest, response: HttpResponseBase, user: User) -> None:
    """Set the cookie that makes the browser a known device of the user."""
    account, state = _account(user)
    device = device_of(request, user) or secrets.token_urlsafe(16)
    others = [each for each in _entries(request) if each[0] != account]
    response.set_cookie(
        settings.DEVICE_COOKIE_NAME,
        signing.dumps([[account, device, state], *others[: MAX_ACCOUNTS - 1]], salt=_SALT),
        max_age=REMEMBERED_FOR,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _account(user: User) -> tuple[str, str]:
    return str(user.pk), user.get_session_auth_hash()[:16]


def _entries(request: HttpRequest) -> list[list[str]]:
    try:
        entries = signing.loads(
            request.COOKIES.get(settings.DEVICE_COOKIE_NAME, ""), salt=_SALT, max_age=REMEMBERED_FOR
        )
    except signing.BadSignature:
        return []
    return [each for each in entries if len(each) == _FIELDS]
