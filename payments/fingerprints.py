"""Fingerprints of requests that start a transaction or a refund, for `kit.api.request_fingerprints`."""

import hmac
import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from kit.api.request_fingerprints import CardNumber, Fingerprint, differing, fingerprint_of, keyed_hash
from payments.rails.protocol import ThreeDSecure
from payments.rules.cards import Card


def fingerprint(request: dict[str, Any]) -> Fingerprint:
    """Return the keyed hashes of a validated request. Card numbers are hashed separately, and CVVs not at all."""
    return fingerprint_of(request, plain=_plain)


def first_release_fingerprint(request: dict[str, Any]) -> str:
    """Return the fingerprint that release 0.1 stored: one hash over everything, the card number included."""
    text = json.dumps(request, sort_keys=True, ensure_ascii=False, default=_plain)
    return hmac.digest(settings.FINGERPRINT_KEY.encode(), text.encode(), "sha256").hex()


API_NAMES = {"three_ds": "3ds"}  # of fields whose names aren't valid in Python


def differing_fields(request: Mapping[str, Any], stored: Mapping[str, Any], *, fingerprint: str) -> list[str]:
    """Return the names of the fields that differ from a stored request, as merchants write them."""
    names = differing(request, stored, fingerprint=fingerprint, plain=_plain)
    return [API_NAMES.get(name, name) for name in names]


def fields_with_card_numbers(request: Mapping[str, Any]) -> set[str]:
    return {name for name, value in request.items() if fingerprint({name: value}).card_numbers}


def generated_fingerprint(**cause: str) -> Fingerprint:
    """Return the fingerprint of a transaction that Sluice creates itself, without a request."""
    return Fingerprint(keyed_hash(cause))


def _plain(value: Any) -> Any:
    if isinstance(value, Card):
        return [
            CardNumber(value.secret.reveal_number()),
            value.name,
            value.expiry_month,
            value.expiry_year,
            value.billing_address,
        ]
    if isinstance(value, ThreeDSecure):
        return [value.enabled, value.challenge_preference]
    raise TypeError(type(value).__name__)
