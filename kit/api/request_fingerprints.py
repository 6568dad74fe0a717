"""Fingerprints, by which requests with the same reference are compared.

A `Fingerprint` separates a request's card numbers from its other values, so that requests can be compared without
them. A response that depends on the card number would confirm guesses (PCI DSS 3.5.1.1, decision 0062).
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings

from kit.db.card_number_fields import KEPT_AS_SENT
from kit.masking import split_card_numbers


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Keyed hashes of a validated request."""

    request: str  # the whole request, with card numbers masked
    card_numbers: str = ""  # the card numbers; empty if it has none

    def card_numbers_of(self, resource: UUID) -> str:
        """Return the hash of the card numbers to store with a resource. It is different for every resource."""
        if not self.card_numbers:
            return ""
        text = f"{resource} {self.card_numbers}"
        return hmac.digest(settings.FINGERPRINT_KEY.encode(), text.encode(), "sha256").hex()


def fingerprint_of(request: Mapping[str, Any], *, plain: Callable[[Any], Any] = str) -> Fingerprint:
    """Return the fingerprint of a validated request; `plain` converts values that JSON can't represent."""
    numbers: list[str] = []
    masked = _separated(request, numbers, plain)
    return Fingerprint(keyed_hash(masked), keyed_hash({"card_numbers": numbers}) if numbers else "")


def _separated(value: Any, numbers: list[str], plain: Callable[[Any], Any]) -> Any:
    """Return a value in JSON types, with its card numbers moved to a list."""
    if isinstance(value, str):
        masked, found = split_card_numbers(value)
        numbers += found
        return masked
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {
            name: each if name in KEPT_AS_SENT else _separated(each, numbers, plain)
            for name, each in sorted(value.items())
        }
    if isinstance(value, list | tuple):
        return [_separated(each, numbers, plain) for each in value]
    return _separated(plain(value), numbers, plain)


def keyed_hash(request: dict[str, Any]) -> str:
    """Return a hash over plain values.

    The key prevents a search over all card numbers (PCI DSS 3.5.1.1) or all eleven-digit numbers.
    """
    text = json.dumps(request, sort_keys=True, ensure_ascii=False)
    return hmac.digest(settings.FINGERPRINT_KEY.encode(), text.encode(), "sha256").hex()
