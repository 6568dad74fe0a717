"""The merchant's reference is the idempotency key: the same request again gets the same resource."""

import hmac
import json
from typing import Any

from django.conf import settings
from rest_framework import status

from merchants.errors import Problem
from payments.cards import Card
from payments.rails.protocol import ThreeDSecure


class DuplicateReference(Problem):
    """The reference belongs to a different request. The answer carries the first one's id and status."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "duplicate_reference"
    default_detail = "This reference was used for a different request."


def fingerprint(request: dict[str, Any]) -> str:
    """Return a keyed hash over a validated request: card number included, CVV left out.

    Keyed, so that a stored hash cannot be tried against all card numbers (PCI DSS 3.5.1.1).
    """
    text = json.dumps(request, sort_keys=True, ensure_ascii=False, default=_plain)
    return hmac.digest(settings.FINGERPRINT_KEY.encode(), text.encode(), "sha256").hex()


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
