"""Codes of authenticator apps (RFC 6238), each accepted once.

The last accepted time step is stored with the authenticator, and only later steps are accepted. The library keeps
used codes in the cache for a shorter time than they are valid, and doesn't keep the code that sets up the app.
"""

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from allauth.mfa.utils import decrypt
from django.db import transaction

_LAST_STEP = "last_step"  # in Authenticator.data


def step_of(secret: str, code: str, *, after: int = -1) -> int | None:
    """Return the time step of a code, if the code is valid now and the step is later than `after`."""
    for step in yield_hotp_counters_from_time():
        if step > after and compare_user_code(
            actual=code, expected=format_hotp_value(hotp_value(secret, step))
        ):
            return int(step)
    return None


@transaction.atomic
def use(authenticator: Authenticator, code: str) -> bool:
    """Return whether a code is valid and unused, and mark it and earlier ones as used."""
    locked = Authenticator.objects.select_for_update().filter(pk=authenticator.pk).first()
    if locked is None:
        return False
    step = step_of(decrypt(locked.data["secret"]), code, after=locked.data.get(_LAST_STEP, -1))
    if step is None:
        return False
    mark_used(locked, step)
    authenticator.data = locked.data
    return True


def mark_used(authenticator: Authenticator, step: int) -> None:
    """Mark the codes up to a time step as used."""
    authenticator.data[_LAST_STEP] = step
    authenticator.save(update_fields=["data"])
