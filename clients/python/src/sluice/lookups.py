"""Where to look up a request whose answer was lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

# The methods that look up what the requests to a path made or changed.
METHODS = {
    "payments": "payments.get",
    "refunds": "refunds.get",
    "virtual-accounts": "virtual_accounts.get",
    "payout-batches": "payout_batches.get",
    "beneficiaries": "beneficiaries.get",
    "payment-links": "payment_links.get",
    "events": "events.get",
}
NO_REFERENCE = "client.requests.list() shows whether it arrived."


def reference_of(target: str, body: Mapping[str, Any] | None) -> str:
    """Return the reference that a request makes or changes, or nothing.

    >>> reference_of("/api/payments", {"reference": "order-1"}), reference_of("/api/payments/order-1/void", {})
    ('order-1', 'order-1')
    """
    own = (body or {}).get("reference")
    if isinstance(own, str) and own:
        return own
    return unquote(subject) if (subject := _parts(target)[1]) != "simulate" else ""


def advice(target: str, reference: str) -> str:
    """Return which call asks for the outcome of a write.

    >>> advice("/api/payments/order-1/refunds", "refund-1")
    "client.refunds.get('refund-1') returns what came of it."
    """
    group, _, last = _parts(target)
    method = METHODS.get("refunds" if last == "refunds" else group)
    if not reference or method is None:
        return NO_REFERENCE
    return f"client.{method}({reference!r}) returns what came of it."


def _parts(target: str) -> tuple[str, str, str]:
    """Return the words of a path after `/api`: what it is about, which one, and what is done to it."""
    words = target.partition("?")[0].split("/")[2:]
    group, subject, last = (*words, "", "", "")[:3]
    return group, subject, last
