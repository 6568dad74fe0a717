"""Client for Sluice, a payment service that merchants run themselves.

import sluice

with sluice.Sluice.from_env() as client:
payment = client.payments.get("order-1042")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sluice import signing, webhooks
from sluice.card import Card
from sluice.errors import (
    ApiError,
    AuthenticationFailed,
    Conflict,
    DuplicateReference,
    Forbidden,
    InvalidRequest,
    InvalidState,
    NotFound,
    NotSent,
    OutcomeUnknown,
    RailUnavailable,
    RateLimited,
    ServerTrouble,
    SluiceError,
    TransportError,
)
from sluice.version import __version__
from sluice.webhooks import InvalidSignature, MalformedEvent

if TYPE_CHECKING:
    from sluice.client import Sluice

__all__ = [
    "ApiError",
    "AuthenticationFailed",
    "Card",
    "Conflict",
    "DuplicateReference",
    "Forbidden",
    "InvalidRequest",
    "InvalidSignature",
    "InvalidState",
    "MalformedEvent",
    "NotFound",
    "NotSent",
    "OutcomeUnknown",
    "RailUnavailable",
    "RateLimited",
    "ServerTrouble",
    "Sluice",
    "SluiceError",
    "TransportError",
    "__version__",
    "signing",
    "webhooks",
]


def __getattr__(name: str) -> Any:
    """Import the client at its first use: a webhook receiver needs neither HTTP nor TLS nor the models."""
    if name == "Sluice":
        from sluice.client import Sluice  # noqa: PLC0415

        return Sluice
    raise AttributeError(name)
