"""Authenticate notifications of the hosting bank.

The bank signs the timestamp, a full stop and the raw body with its own key. `X-Bank-Signature` holds the hex
HMAC-SHA256 and `X-Bank-Timestamp` the timestamp. There is no nonce: a repeated notification has the same bank
reference and changes nothing.
"""

import hmac
import re
import time

from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from kit.connectors.connectors import RailUnavailable
from merchants.api.authentication import (
    InvalidSignature,
    MalformedHeader,
    MissingHeader,
    Unauthenticated,
    out_of_range,
)

SCHEME = "Sluice-Bank-HMAC-SHA256"
SIGNATURE = re.compile(r"[0-9A-Fa-f]{64}\Z")
TIMESTAMP = re.compile(r"[0-9]{1,12}\Z")


class SignedByBank(BaseAuthentication):
    """Accept requests signed with one of the bank's keys. Several are valid during a key rotation."""

    def authenticate(self, request: Request) -> tuple[str, None]:
        try:
            _check(request)
        except Unauthenticated as refused:
            refused.auth_header = SCHEME
            raise
        return "bank", None

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


def _check(request: Request) -> None:
    """Check the headers and the signature of a notification.

    :raises RailUnavailable: no key is configured
    :raises Unauthenticated: a header is missing or malformed, or the signature isn't the bank's
    """
    if not settings.BANK_NOTIFICATION_KEYS:
        raise RailUnavailable("No hosting bank is configured.")
    timestamp = request.headers.get("X-Bank-Timestamp", "")
    signature = request.headers.get("X-Bank-Signature", "")
    if not timestamp or not signature:
        raise MissingHeader("X-Bank-Timestamp and X-Bank-Signature are both required.")
    if not TIMESTAMP.match(timestamp):
        raise MalformedHeader("X-Bank-Timestamp must be Unix seconds: 1 to 12 digits.")
    if not SIGNATURE.match(signature):
        raise MalformedHeader("X-Bank-Signature must have exactly 64 hex digits.")
    if abs(int(time.time()) - int(timestamp)) > settings.SIGNATURE_TOLERANCE:
        raise out_of_range(timestamp, header="X-Bank-Timestamp")
    if not _is_valid(signature, timestamp.encode() + b"." + request.body):
        raise InvalidSignature("X-Bank-Signature does not match this body and timestamp.")


def _is_valid(signature: str, signed: bytes) -> bool:
    given = signature.lower().encode()
    expected = [
        hmac.digest(key.encode(), signed, "sha256").hex().encode() for key in settings.BANK_NOTIFICATION_KEYS
    ]
    # Compare every key, so that the duration doesn't reveal which one matched.
    return sum(hmac.compare_digest(given, one) for one in expected) > 0
