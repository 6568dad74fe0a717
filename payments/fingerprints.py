"""Idempotency by the merchant's reference: a repeated request returns the same resource."""

from typing import Any

from kit.api.request_fingerprints import (
    REPLAYED,
    DuplicateReference,
    Fingerprint,
    IdempotentResult,
    fingerprint_of,
    keyed_hash,
    replay_of,
)
from payments.cards import Card
from payments.rails.protocol import ThreeDSecure

__all__ = [
    "REPLAYED",
    "DuplicateReference",
    "Fingerprint",
    "IdempotentResult",
    "fingerprint",
    "generated_fingerprint",
    "replay_of",
]


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
