"""Check that a provider has signed a webhook."""

import hmac

from django.http import HttpRequest

from connectors.protocol import ProviderWebhooks
from merchants.api.authentication import InvalidSignature, MissingHeader, Unauthenticated


def require_signature(webhooks: ProviderWebhooks, request: HttpRequest) -> None:
    """Check the signature of the raw body.

    :raises Unauthenticated: it is missing, or isn't made with one of the keys
    """
    header = webhooks.signature_header
    given = request.headers.get(header, "")
    if not given:
        raise _refusal(MissingHeader(f"{header} is required."), header)
    if not _is_valid(given, request.body, webhooks):
        raise _refusal(InvalidSignature(f"{header} does not match this body."), header)


def _refusal(refusal: Unauthenticated, header: str) -> Unauthenticated:
    refusal.auth_header = header
    return refusal


def _is_valid(given: str, body: bytes, webhooks: ProviderWebhooks) -> bool:
    signature = given.lower().encode()
    expected = [
        hmac.digest(key.encode(), body, webhooks.digest).hex().encode() for key in webhooks.signing_keys()
    ]
    # Compare every key, so that the duration doesn't reveal which one matched.
    return sum(hmac.compare_digest(signature, one) for one in expected) > 0
