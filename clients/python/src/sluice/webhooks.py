"""Webhooks: verify the request that your endpoint received, and read its event.

    try:
        event = sluice.webhooks.parse(request.body, request.headers, KEY)
    except sluice.InvalidSignature:
        return 400
    match event:
        case sluice.webhooks.PaymentSucceeded(data=payment):
            fulfil(event.event_id, payment["reference"])

`data` is a dict with the fields of the event's body, so a field that this version does not know is there as well.

`X-Service-Signature` has no timestamp, so its age isn't checked; that of Standard Webhooks may be five minutes old. Your
protection against an event that comes twice is its `event_id` in a unique column.
"""

import base64
import hmac
import json
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from sluice.errors import SluiceError

OURS = ("x-service-signature", "x-service-signature-previous")
TOLERANCE = 300  # seconds that `webhook-timestamp` may differ, as in Standard Webhooks' reference library


class Headers(Protocol):
    """The headers of a request, as your framework has them, or a dict. Upper and lower case are the same."""

    def items(self) -> Iterable[tuple[str, str]]: ...


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
    """`settlement.released`: the net of a settlement was credited to your balance."""


class AccountActive(Event):
    """`account.active`: a virtual account has its number."""


class AccountFailed(Event):
    """`account.failed`: the provider refused to open a virtual account."""


class PayoutBatchCompleted(Event):
    """`payout_batch.completed`: each payout of a batch has its outcome."""


class DisputeOpened(Event):
    """`dispute.opened`: a cardholder's bank disputes a payment."""


class DisputeUpdated(Event):
    """`dispute.updated`: your answer was submitted, or the deadline of a dispute changed."""


class DisputeDueSoon(Event):
    """`dispute.due_soon`: half, or three quarters, of the time to answer are over."""


class DisputeClosed(Event):
    """`dispute.closed`: a dispute ended."""


class BalanceAdjusted(Event):
    """`balance.adjusted`: staff debited your balance, for example as a correction."""


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
    "account.active": AccountActive,
    "account.failed": AccountFailed,
    "payout_batch.completed": PayoutBatchCompleted,
    "dispute.opened": DisputeOpened,
    "dispute.updated": DisputeUpdated,
    "dispute.due_soon": DisputeDueSoon,
    "dispute.closed": DisputeClosed,
    "balance.adjusted": BalanceAdjusted,
}


def parse(body: bytes, signature: str | Headers | None, keys: str | list[str]) -> Event:
    """Verify a webhook and return its event, whose `data` is a dict: `parse(…).data["reference"]`.

    `body` is the raw body; `signature` all headers of the request, of which one right signature is enough, or only the
    value of `X-Service-Signature`; `keys` the signing key of your endpoint, as `whk_…` or `whsec_…`, or several: the old
    and the new one during a rotation, or your endpoint's and a listener's.

    :raises InvalidSignature: the request does not come from the service, or a key is wrong
    :raises MalformedEvent: the signature is right, but the body is not an event
    :raises TypeError: the body is not bytes
    """
    verify(body, signature, keys)
    try:
        return _event(json.loads(body), bytes(body))
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise MalformedEvent("The body is signed, but it is not an event.") from problem


def verify(body: bytes, signature: str | Headers | None, keys: str | list[str]) -> None:
    """Check the signature of a raw body, in constant time.

    :raises InvalidSignature: it is missing or too old, or was not made of this body with one of the keys
    """
    if not isinstance(body, bytes | bytearray | memoryview):
        message = f"The body is a {type(body).__name__}: pass the raw bytes, before anything parses them."
        raise TypeError(message)
    known = [keys] if isinstance(keys, str) else list(keys or [])  # a missing setting is None
    if not known or not all(known):
        raise ValueError("A key is empty: is the setting that holds it missing?")
    given = _by_lower_case(signature)
    # Compare with all keys, so that the time does not tell which one is right.
    if not any([_is_signed(body, given, key) for key in known]):  # noqa: C419
        raise InvalidSignature(_problem(given))


def is_signature(body: bytes, signature: str, key: str) -> bool:
    """Return, in constant time, whether the signature is of this raw body with this key."""
    return _is_same(sign(body, key), signature)


def sign(body: bytes, key: str) -> str:
    """Return the signature of a raw body: the lower-case hex HMAC-SHA256, keyed with the text of the key."""
    return hmac.digest(_bytes_of(key), bytes(body), "sha256").hex()


def _by_lower_case(signature: str | Headers | None) -> dict[str, str]:
    if signature is None or isinstance(signature, str):
        return {OURS[0]: signature} if signature else {}
    return {name.lower(): value for name, value in signature.items() if value}


def _is_signed(body: bytes, headers: dict[str, str], key: str) -> bool:
    """Return whether a signature among the headers, of either scheme, is right."""
    ours, standard = sign(body, key), _standard_signature(body, headers, key)
    pairs = [(ours, headers[name]) for name in OURS if name in headers]
    if _is_recent(headers):
        pairs += [(standard, given) for given in headers.get("webhook-signature", "").split()]
    return any([_is_same(expected, given) for expected, given in pairs])  # noqa: C419  (all are compared)


def _standard_signature(body: bytes, headers: dict[str, str], key: str) -> str:
    """Return what a signature of Standard Webhooks has to be with these headers."""
    signed = f"{headers.get('webhook-id')}.{headers.get('webhook-timestamp')}."
    digest = hmac.digest(_bytes_of(key), signed.encode(errors="replace") + bytes(body), "sha256")
    return f"v1,{base64.b64encode(digest).decode()}"


def _is_recent(headers: dict[str, str]) -> bool:
    found = re.fullmatch("[0-9]{1,12}", headers.get("webhook-timestamp", ""))
    return found is not None and abs(time.time() - int(found[0])) <= TOLERANCE


def _is_same(expected: str, given: str) -> bool:
    return hmac.compare_digest(expected.encode(), given.encode(errors="replace"))


def _bytes_of(key: str) -> bytes:
    """Return the bytes of a key's text, which `whsec_…` has in Base64."""
    if not key.startswith("whsec_"):
        return key.encode()
    with suppress(ValueError):
        if decoded := base64.b64decode(key.removeprefix("whsec_"), validate=True):
            return decoded
    raise ValueError("A key begins with whsec_, but no Base64 follows: is it complete?")


def _problem(headers: dict[str, str]) -> str:
    if not headers.keys() & {*OURS, "webhook-signature"}:
        return "The header X-Service-Signature is missing or empty."
    if "webhook-signature" in headers and not _is_recent(headers):
        return "webhook-timestamp is more than five minutes from the clock of this machine, or is no number."
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
