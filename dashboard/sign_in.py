"""Who may come in: e-mail and password, guessed at no more than a few times."""

from datetime import datetime

from django.contrib.auth import authenticate, login
from django.db import transaction
from django.http import HttpRequest

from dashboard import throttle
from dashboard.throttle import Limit, TooManyFailures
from merchants import audit
from merchants.audit import Actor
from merchants.callers import client_address
from merchants.models import Business, User

PER_EMAIL = Limit("email", 5)
PER_ADDRESS = Limit("address", 20)
UNKNOWN = "unknown"  # who failed, where what was typed is nobody's e-mail: it may well be a password


class SignInRefused(Exception):
    """The e-mail or the password is wrong, or the account is closed. Nobody is told which."""


def sign_in(request: HttpRequest, *, email: str, password: str, now: datetime) -> User:
    """Check a password, open a session under a new key, and tell the audit trail.

    :raises SignInRefused: e-mail and password do not go together
    :raises TooManyFailures: nothing was checked
    """
    slots = _take_slots(email=email, address=client_address(request), now=now)
    user = authenticate(request, username=email, password=password)
    if not isinstance(user, User):
        _record(request, "session.sign_in_failed", user=_find(email), now=now)
        raise SignInRefused
    throttle.give_back(slots)
    with transaction.atomic():
        login(request, user)
        _record(request, "session.signed_in", user=user, now=now)
    return user


def _take_slots(*, email: str, address: str, now: datetime) -> list[str]:
    slots = PER_ADDRESS.take(address, now=now)
    try:
        # Upper case first: some letters are the same to a database only when they are capitals.
        return slots + PER_EMAIL.take(email.upper().lower(), now=now)
    except TooManyFailures:
        throttle.give_back(slots)  # refused unread: no failure of this address
        raise


def _record(request: HttpRequest, action: str, *, user: User | None, now: datetime) -> None:
    audit.record(
        action=action,
        actor=Actor(name=user.email if user else UNKNOWN, address=client_address(request)),
        business=_only_business(user),
        now=now,
    )


def _find(email: str) -> User | None:
    return User.objects.filter(email__iexact=email).first() if email else None


def _only_business(user: User | None) -> Business | None:
    """Return the business of a person who has exactly one: of several, none is meant yet."""
    businesses = list(Business.objects.filter(members__user=user)[:2]) if user else []
    return businesses[0] if len(businesses) == 1 else None
