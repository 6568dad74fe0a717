"""Limits on guesses of passwords and codes, and on password reset emails.

A failure counts against the pair of account and network address. Wider limits per address and per account stop
attacks from many addresses or on many accounts. A browser that has signed in to the account before has limits of its
own instead, so that strangers can't use them up.
"""

from datetime import datetime, timedelta

from django.http import HttpRequest

from dashboard.account.sign_in.known_devices import device_of
from kit.ip_networks import network_of
from merchants.models import User
from merchants.people import attempt_limits
from merchants.people.attempt_limits import Limit, Slot, SlotRequest
from merchants.people.request_actors import client_address

QUARTER_HOUR, HOUR, DAY = timedelta(minutes=15), timedelta(hours=1), timedelta(days=1)

# Guesses: of a password at sign-in, and of a code in the second step
PER_PAIR = Limit("pair", 5, QUARTER_HOUR)
PER_ADDRESS = Limit("address", 20, QUARTER_HOUR)
PER_ACCOUNT = Limit("account", 30, QUARTER_HOUR)
PER_ACCOUNT_AND_DAY = Limit("account-day", 100, DAY)
PER_DEVICE = Limit("device", 10, QUARTER_HOUR)
PER_DEVICE_AND_DAY = Limit("device-day", 50, DAY)
# Guesses in a session: the user is known
PER_SESSION = Limit("session", 10, QUARTER_HOUR)
# Emails with a password reset link
MAILS_PER_PAIR = Limit("mail-pair", 3, QUARTER_HOUR)
MAILS_PER_ADDRESS = Limit("mail-address", 20, QUARTER_HOUR)
MAILS_PER_ACCOUNT = Limit("mail-account", 10, HOUR)
MAILS_PER_DEVICE = Limit("mail-device", 3, QUARTER_HOUR)


def take_sign_in(request: HttpRequest, *, email: str, user: User | None, now: datetime) -> list[Slot]:
    """Count one guess of a password.

    :raises LimitReached: no further guess is allowed yet
    """
    return attempt_limits.take(*_guess(request, "password", _account(email), user), now=now)


def take_code(request: HttpRequest, *, user: User, now: datetime) -> list[Slot]:
    """Count one guess of a code or recovery code in the second step.

    :raises LimitReached: no further guess is allowed yet
    """
    return attempt_limits.take(*_guess(request, "code", str(user.pk), user), now=now)


def take_confirmation(request: HttpRequest, *, user: User, now: datetime) -> list[Slot]:
    """Count one guess of the password or a code by a signed-in user.

    :raises LimitReached: no further guess is allowed yet
    """
    return attempt_limits.take(PER_SESSION.of(user.pk, request.session.session_key), now=now)


def take_reset_mail(request: HttpRequest, *, email: str, now: datetime) -> None:
    """Count one email with a password reset link.

    :raises LimitReached: no further email is sent yet
    """
    device = _known_device(request, User.objects.with_email(email))
    if device:
        attempt_limits.take(MAILS_PER_DEVICE.of(*device), now=now)
        return
    account, network = _account(email), _network(request)
    attempt_limits.take(
        MAILS_PER_PAIR.of(network, account),
        MAILS_PER_ADDRESS.of(network),
        MAILS_PER_ACCOUNT.of(account),
        now=now,
    )


def _guess(request: HttpRequest, purpose: str, account: str, user: User | None) -> list[SlotRequest]:
    device = _known_device(request, user)
    if device:
        return [each.of(purpose, *device) for each in (PER_DEVICE, PER_DEVICE_AND_DAY)]
    network = _network(request)
    return [
        PER_PAIR.of(purpose, network, account),
        PER_ADDRESS.of(purpose, network),
        PER_ACCOUNT.of(purpose, account),
        PER_ACCOUNT_AND_DAY.of(purpose, account),
    ]


def _known_device(request: HttpRequest, user: User | None) -> tuple[int, str] | None:
    """Return the ids of the account and of the browser, if the browser has signed in to the account before."""
    device = device_of(request, user) if user else None
    return (user.pk, device) if user and device else None


def _account(email: str) -> str:
    # Upper case first: databases treat some letters as equal only in upper case.
    return email.upper().lower()


def _network(request: HttpRequest) -> str:
    return network_of(client_address(request))
