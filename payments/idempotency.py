"""The merchant's reference is the idempotency key: the same request again gets the same resource."""

from typing import Any

from merchants.idempotency import REPLAYED, DuplicateReference, IdempotentResult, keyed_hash, replay_of
from payments.cards import Card
from payments.rails.protocol import ThreeDSecure

__all__ = ["REPLAYED", "DuplicateReference", "IdempotentResult", "fingerprint", "replay_of"]


def fingerprint(request: dict[str, Any]) -> str:
    """Return a keyed hash over a validated request: card number included, CVV left out."""
    return keyed_hash(request, plain=_plain)


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
