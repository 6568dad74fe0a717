"""The client address of a request, and the person or API key that sent it."""

from ipaddress import ip_address
from typing import cast

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

from merchants.models import ApiKey
from merchants.people.audit import Actor


def client_address(request: HttpRequest) -> str:
    """Return the client's address as seen by our outermost proxy, or the peer's without a proxy.

    Proxies append to X-Forwarded-For, so only the last entries, one per proxy, can be trusted.
    """
    peer: str = request.META["REMOTE_ADDR"] or "127.0.0.1"
    seen = [entry.strip() for entry in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
    if settings.PROXIES_IN_FRONT == 0 or len(seen) < settings.PROXIES_IN_FRONT:
        return peer
    return seen[-settings.PROXIES_IN_FRONT] if _is_address(seen[-settings.PROXIES_IN_FRONT]) else peer


def person_acting(request: HttpRequest) -> Actor:
    """Return the signed-in person, for the audit trail."""
    return Actor(name=request.user.get_username(), address=client_address(request))


def key_acting(request: Request) -> Actor:
    """Return the API key that signed a request, for the audit trail."""
    key = cast("ApiKey", request.auth)
    return Actor(name=key.public_id, address=client_address(request))


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
