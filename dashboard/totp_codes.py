"""Codes of authenticator apps (RFC 6238), each accepted once.

The number of the last accepted time step is stored with the authenticator, and only later steps are accepted. The
library remembers used codes in the cache, for less time than a code is valid, and not the one that sets the app up.
"""

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from allauth.mfa.utils import decrypt
from django.db import transaction

_LAST_STEP = "last_step"  # in Authenticator.data


def step_of(secret: str, code: str, *, after: int = -1) -> int | None:
    """Return the time step that a code is of, if it is valid now and later than `after`."""
    for step in yield_hotp_counters_from_time():
        if step > after and compare_user_code(
            actual=code, expected=format_hotp_value(hotp_value(secret, step))
        ):
            return int(step)
    return None


@transaction.atomic
def use(authenticator: Authenticator, code: str) -> bool:
    """Accept a code that is valid and was not used; it and those before it are used then."""
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
    """Store that the codes up to this time step are used."""
    authenticator.data[_LAST_STEP] = step
    authenticator.save(update_fields=["data"])
