"""Webhooks: verify the request that your endpoint received, and read its event.

    try:
        event = sluice.webhooks.parse(request.body, request.headers.get("X-Service-Signature"), KEY)
    except sluice.InvalidSignature:
        return 400
    match event:
        case sluice.webhooks.PaymentSucceeded(data=payment):
            fulfil(event.event_id, payment["reference"])

`data` is a dict with the fields of the event's body, so a field that this version does not know is there as well.

The signature has no timestamp, so there is no tolerance to check. Your protection against an event that comes twice is
its `event_id` in a unique column.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sluice.errors import SluiceError


class InvalidSignature(SluiceError):
    """The signature is missing, or was not made of this body with one of the keys. Answer 4xx."""


class MalformedEvent(SluiceError):
    """The signature is right, but the body is not an event."""


@dataclass(frozen=True)
class Event:
    """An event of the kind `event`, such as `payment.success`. Keep `event_id` in a unique column, and ignore an event whose id is already there.

    `data` is a dict with the names of the API: `event.data["reference"]`, not `event.data.reference`.
    """

    event_id: str
    created_at: datetime
    data: dict[str, Any]
    event: str
    is_test: bool = False
    raw: bytes = field(default=b"", repr=False)


class PaymentSucceeded(Event):
    """`payment.success`"""


class PaymentFailed(Event):
    """`payment.failed`"""


class PaymentMismatched(Event):
    """`payment.mismatch`: a dynamic account received another amount than expected."""


class PayoutSucceeded(Event):
    """`payout.success`"""


class PayoutFailed(Event):
    """`payout.failed`"""


class PayoutReversed(Event):
    """`payout.reversed`: the bank returned a successful payout or a part of it."""


class RefundSucceeded(Event):
    """`refund.success`"""


class RefundFailed(Event):
    """`refund.failed`"""


class TransferUnapplied(Event):
    """`transfer.unapplied`: a transfer that matches no payment arrived."""


class SettlementReleased(Event):
    """`settlement.released`: the net of a settlement was credited to your wallet."""


class UnknownEvent(Event):
    """A kind of event that this version does not know. Answer 2xx, or it is sent again."""


KINDS: dict[str, type[Event]] = {
    "payment.success": PaymentSucceeded,
    "payment.failed": PaymentFailed,
    "payment.mismatch": PaymentMismatched,
    "payout.success": PayoutSucceeded,
    "payout.failed": PayoutFailed,
    "payout.reversed": PayoutReversed,
    "refund.success": RefundSucceeded,
    "refund.failed": RefundFailed,
    "transfer.unapplied": TransferUnapplied,
    "settlement.released": SettlementReleased,
}


def parse(body: bytes, signature: str | None, keys: str | list[str]) -> Event:
    """Verify a webhook and return its event, whose `data` is a dict: `parse(…).data["reference"]`.

    `body` is the raw body; `signature` the header `X-Service-Signature`, or None if it is missing; `keys` the signing key
    of your endpoint, or several: the old and the new one during a rotation, or your endpoint's and a listener's.

    :raises InvalidSignature: the request does not come from the service, or a key is wrong
    :raises MalformedEvent: the signature is right, but the body is not an event
    :raises TypeError: the body is not bytes
    """
    verify(body, signature, keys)
    try:
        document = json.loads(body)
        return _event(document, bytes(body))
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise MalformedEvent("The body is signed, but it is not an event.") from problem


def verify(body: bytes, signature: str | None, keys: str | list[str]) -> None:
    """Check the signature of a raw body, in constant time.

    :raises InvalidSignature: it is missing, or was not made of this body with one of the keys
    """
    if not isinstance(body, bytes | bytearray | memoryview):
        message = f"The body is a {type(body).__name__}: pass the raw bytes, before anything parses them."
        raise TypeError(message)
    known = [keys] if isinstance(keys, str) else list(keys or [])  # a missing setting is None
    if not known or not all(known):
        raise ValueError("A key is empty: is the setting that holds it missing?")
    # Compare with all keys, so that the time does not tell which one is right.
    if not any([is_signature(body, signature or "", key) for key in known]):  # noqa: C419
        raise InvalidSignature(_problem(signature))


def is_signature(body: bytes, signature: str, key: str) -> bool:
    """Return, in constant time, whether the signature is of this raw body with this key."""
    return hmac.compare_digest(sign(body, key).encode(), signature.encode(errors="replace"))


def sign(body: bytes, key: str) -> str:
    """Return the signature of a raw body: the lower-case hex HMAC-SHA256, keyed with the text of the key."""
    return hmac.new(key.encode(), bytes(body), hashlib.sha256).hexdigest()


def _problem(signature: str | None) -> str:
    if not signature:
        return "The header X-Service-Signature is missing or empty."
    return "The signature was not made of this body with this key. `sluice verify` finds the usual mistakes."


def _event(document: dict[str, Any], raw: bytes) -> Event:
    name = document["event"]
    kind = KINDS.get(name, UnknownEvent) if isinstance(name, str) else UnknownEvent
    return kind(
        event_id=document["event_id"],
        created_at=_moment(document["created_at"]),
        data=document["data"],
        event=str(name),
        is_test=document.get("test") is True,
        raw=raw,
    )


def _moment(text: str) -> datetime:
    """Read an RFC 3339 time. Python 3.10 does not read the `Z` itself."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
