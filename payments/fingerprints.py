"""Fingerprints of requests that start a transaction or a refund, for `kit.api.request_fingerprints`."""

from typing import Any

from kit.api.request_fingerprints import Fingerprint, fingerprint_of, keyed_hash
from payments.cards import Card
from payments.rails.protocol import ThreeDSecure


def fingerprint(request: dict[str, Any]) -> Fingerprint:
    """Return the keyed hashes of a validated request. Card numbers are hashed separately, and CVVs not at all."""
    return fingerprint_of(request, plain=_plain)


def generated_fingerprint(**cause: str) -> Fingerprint:
    """Return the fingerprint of a transaction that Sluice creates itself, without a request."""
    return Fingerprint(keyed_hash(cause))


def _plain(value: Any) -> Any:
    if isinstance(value, Card):
        return [
            value.secret.reveal_number(),
            value.name,
            value.expiry_month,
            value.expiry_year,
            value.billing_address,
        ]
    if isinstance(value, ThreeDSecure):
        return [value.enabled, value.challenge_preference]
    raise TypeError(type(value).__name__)
