"""Replays: a repeated request returns the resource of the first one.

Every service that can be repeated returns an `IdempotentResult`, and views answer with `created_or_replayed` or
`done_or_replayed`. Each service decides what makes two requests equal: their fingerprints, the state of the resource
(a capture), or the contents of a notification (a transfer).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from rest_framework import status
from rest_framework.response import Response

from kit.api.errors import Problem

# Header of a replayed response, as named in the contract.
REPLAYED = {"Idempotent-Replayed": "true"}


class Fingerprinted(Protocol):
    """A resource that stores the hash of the request that created it."""

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
    def of(cls, existing: Fingerprinted, *, differs: Iterable[str]) -> DuplicateReference:
        """Return the error that names the resource of the first request, and the fields that differ from it."""
        shown = {"id": str(existing.pk), "status": str(existing.status)}
        return cls(existing=shown, differs=sorted(differs))


@dataclass(frozen=True, slots=True)
class IdempotentResult(Generic[R]):
    """The resource of an idempotent request, and whether the request was a replay."""

    resource: R
    is_replay: bool


def created_or_replayed(
    result: IdempotentResult[Any], shown: dict[str, Any], *, location: str | None = None
) -> Response:
    """Return the response to a request that creates a resource: 201, or 200 for a replay."""
    if result.is_replay:
        return Response(shown, headers=REPLAYED)
    headers = {"Location": location} if location else {}
    return Response(shown, status=status.HTTP_201_CREATED, headers=headers)


def done_or_replayed(result: IdempotentResult[Any], shown: dict[str, Any]) -> Response:
    """Return the response to a request that changes a resource."""
    return Response(shown, headers=REPLAYED if result.is_replay else {})


def replay_of(
    existing: F | None, *, fingerprint: str, differs: Callable[[F], Iterable[str]]
) -> IdempotentResult[F] | None:
    """Return the resource that an equal request created before, or None if the reference is free.

    `differs` returns the names of the fields in which the request differs from the first one.

    :raises DuplicateReference: the reference belongs to a different request
    """
    if existing is None:
        return None
    if existing.fingerprint != fingerprint:
        raise DuplicateReference.of(existing, differs=differs(existing))
    return IdempotentResult(existing, is_replay=True)
