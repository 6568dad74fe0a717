"""Audit entries of users' actions on their own account."""

from datetime import datetime
from typing import Any

from allauth.account import signals as account
from allauth.mfa import signals as factors
from allauth.mfa.models import Authenticator
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from merchants.models import Business, User
from merchants.people import audit
from merchants.people.audit import Actor
from merchants.people.request_actors import client_address

UNKNOWN = "unknown"  # the actor if the entered email address has no account: it may be a mistyped password


def record(request: HttpRequest, action: str, *, user: User | None, now: datetime, **details: Any) -> None:
    audit.record(
        action=action,
        actor=actor_of(request, user),
        business=_only_business(user),
        now=now,
        **details,
    )


def actor_of(request: HttpRequest, user: User | None) -> Actor:
    return Actor(name=user.email if user else UNKNOWN, address=client_address(request))


def _only_business(user: User | None) -> Business | None:
    """Return the user's business; None for a user with several, because none is chosen yet."""
    businesses = list(Business.objects.filter(members__user=user)[:2]) if user else []
    return businesses[0] if len(businesses) == 1 else None


# allauth reports these only by signals.


@receiver(factors.authenticator_added)
def _factor_added(request: HttpRequest, user: User, authenticator: Authenticator, **_: Any) -> None:
    record(request, "second_factor.added", user=user, target=authenticator.type, now=timezone.now())


@receiver(factors.authenticator_removed)
def _factor_removed(request: HttpRequest, user: User, authenticator: Authenticator, **_: Any) -> None:
    record(request, "second_factor.removed", user=user, target=authenticator.type, now=timezone.now())


@receiver(factors.authenticator_reset)
def _codes_regenerated(request: HttpRequest, user: User, authenticator: Authenticator, **_: Any) -> None:
    record(request, "second_factor.renewed", user=user, target=authenticator.type, now=timezone.now())


@receiver(factors.authentication_failed)
def _code_rejected(request: HttpRequest, user: User, authenticator: Authenticator, **_: Any) -> None:
    record(request, "second_factor.failed", user=user, target=authenticator.type, now=timezone.now())


@receiver(account.password_changed)
def _password_changed(request: HttpRequest, user: User, **_: Any) -> None:
    record(request, "password.changed", user=user, now=timezone.now())


class PasswordResetRequest(HttpRequest):
    """A request that resets a password, with the user that the page remembers on the device."""

    password_reset_of: User


@receiver(account.password_reset)
def _password_reset(request: PasswordResetRequest, user: User, **_: Any) -> None:
    request.password_reset_of = user
    record(request, "password.reset", user=user, now=timezone.now())
