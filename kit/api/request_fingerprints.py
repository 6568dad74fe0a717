"""Fingerprints, by which requests with the same reference are compared.

A `Fingerprint` separates a request's card numbers from its other values, so that requests can be compared without
them. A response that depends on the card number would confirm guesses (PCI DSS 3.5.1.1, decision 0017).
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any
from uuid import UUID

from django.conf import settings

from kit.db.card_number_fields import KEPT_AS_SENT
from kit.text.masking import masked_number, split_card_numbers


class CardNumber(str):
    """The number of the request's card. It may be one that no scheme issues, which texts aren't searched for."""

    __slots__ = ()


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
    if isinstance(value, CardNumber):
        numbers.append(value)
        return masked_number(value)
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


MOST_RESTORED = 3  # fields; the search for the fields that differ is bounded


def differing(
    request: Mapping[str, Any],
    stored: Mapping[str, Any],
    *,
    fingerprint: str,
    plain: Callable[[Any], Any] = str,
) -> list[str]:
    """Return the names of the top-level fields in which a request differs from the one that created a resource.

    `stored` has the values that the resource keeps of that request, None for those it didn't have. They may have
    changed since, and some values aren't kept. So the smallest set of fields is wanted with which the request has the
    fingerprint of the first one. If there is none, fields that aren't kept are named too.
    """
    given, kept = _separated(request, [], plain), _separated(stored, [], plain)
    kept = {name: None if value in ("", []) else value for name, value in kept.items()}
    named = sorted(name for name, value in kept.items() if (given.get(name) or None) != (value or None))
    for count in range(1, MOST_RESTORED + 1):
        for names in combinations(named, count):
            restored = given | {name: kept[name] for name in names}
            if (
                keyed_hash({name: value for name, value in restored.items() if value is not None})
                == fingerprint
            ):
                return list(names)
    return sorted(({*named, *(given.keys() - kept.keys())} or given.keys()) - {"reference"})


def keyed_hash(request: dict[str, Any]) -> str:
    """Return a hash over plain values.

    The key prevents a search over all card numbers (PCI DSS 3.5.1.1) or all eleven-digit numbers.
    """
    text = json.dumps(request, sort_keys=True, ensure_ascii=False)
    return hmac.digest(settings.FINGERPRINT_KEY.encode(), text.encode(), "sha256").hex()
