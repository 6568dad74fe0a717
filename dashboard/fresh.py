"""Who has proved a moment ago that it is still them.

A session lives for a working day; a screen is left alone sooner. What hands out a secret, a key, a role
or money asks for the password or a second factor again, unless one was given within FRESH_FOR.
"""

import time
from datetime import timedelta

from allauth.account.internal.flows.login import get_authentication_records
from allauth.core.exceptions import ReauthenticationRequired
from django.http import HttpRequest

FRESH_FOR = timedelta(minutes=10)


def is_fresh(request: HttpRequest) -> bool:
    """Tell whether this session's person has given a password or a second factor lately."""
    records = get_authentication_records(request, request.user)
    moments = [record["at"] for record in records]
    return bool(moments) and time.time() - max(moments) < FRESH_FOR.total_seconds()


def require_fresh(request: HttpRequest) -> None:
    """Have a stale session confirmed first; what was posted is done right afterwards.

    :raises ReauthenticationRequired: answered by allauth's middleware with the page that asks
    """
    if not is_fresh(request):
        raise ReauthenticationRequired
