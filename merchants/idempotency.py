"""The merchant's reference is the idempotency key: the same request again gets the same resource."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from django.conf import settings
from rest_framework import status

from merchants.errors import Problem

# The header of an answer that repeats an earlier one. The contract names it.
REPLAYED = {"Idempotent-Replayed": "true"}


class Fingerprinted(Protocol):
    """A resource that keeps the hash of the request that created it."""

    @property
    def pk(self) -> Any: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def status(self) -> str: ...


R = TypeVar("R")
F = TypeVar("F", bound=Fingerprinted)


class DuplicateReference(Problem):
    """The reference was already used for a different request."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "duplicate_reference"
    default_detail = "This reference was already used for a different request."

    @classmethod
    def of(cls, existing: Fingerprinted) -> DuplicateReference:
        """Return the error that names the resource of the first request."""
        return cls(existing={"id": str(existing.pk), "status": str(existing.status)})


@dataclass(frozen=True, slots=True)
class IdempotentResult(Generic[R]):
    """The resource of an idempotent request, and whether the request was a replay."""

    resource: R
    is_replay: bool


def replay_of(existing: F | None, *, fingerprint: str) -> IdempotentResult[F] | None:
    """Return the resource that an equal request created before, or None if the reference is free.

    :raises DuplicateReference: the reference belongs to a different request
    """
    if existing is None:
        return None
    if existing.fingerprint != fingerprint:
        raise DuplicateReference.of(existing)
    return IdempotentResult(existing, is_replay=True)


def keyed_hash(request: dict[str, Any], *, plain: Callable[[Any], Any] = str) -> str:
    """Return a hash over a validated request; `plain` says what of a value that JSON cannot hold counts.

    Keyed, so that a stored hash cannot be tried against all card numbers (PCI DSS 3.5.1.1), nor against
    all eleven-digit ones.
    """
    text = json.dumps(request, sort_keys=True, ensure_ascii=False, default=plain)
    return hmac.digest(settings.FINGERPRINT_KEY.encode(), text.encode(), "sha256").hex()
