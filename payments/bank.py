"""The hosting bank tells of transfers: `POST /bank/transfers`, signed with a key of its own.

The bank signs the timestamp, a full stop and the raw body: hex HMAC-SHA256 in `X-Bank-Signature`, the
timestamp in `X-Bank-Timestamp`. There is no nonce: a repeated notification is for the same bank reference,
and changes nothing.
"""

import hmac
import re
import time
from typing import Any

from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from merchants.authentication import InvalidSignature, MalformedHeader, MissingHeader, TimestampOutOfRange
from merchants.connectors import RailUnavailable
from merchants.strict_fields import Amount, Currency, RequestSerializer, Text
from payments.serializers import BankCode, SenderName
from payments.services import transfers
from payments.services.transfers import Notice

SIGNATURE = re.compile(r"[0-9A-Fa-f]{64}\Z")
TIMESTAMP = re.compile(r"[0-9]{1,12}\Z")
SENDER = "Unknown sender"  # where the bank names none


class SignedByBank(BaseAuthentication):
    """Accept what is signed with one of the bank's keys; several are valid while they are changed."""

    def authenticate(self, request: Request) -> tuple[str, None]:
        if not settings.BANK_NOTIFICATION_KEYS:
            raise RailUnavailable("No hosting bank is configured here.")
        timestamp = request.headers.get("X-Bank-Timestamp", "")
        signature = request.headers.get("X-Bank-Signature", "")
        if not timestamp or not signature:
            raise MissingHeader("X-Bank-Timestamp and X-Bank-Signature are both required.")
        if not TIMESTAMP.match(timestamp) or not SIGNATURE.match(signature):
            raise MalformedHeader
        if abs(int(time.time()) - int(timestamp)) > settings.SIGNATURE_TOLERANCE:
            raise TimestampOutOfRange(server_time=int(time.time()))
        if not _is_right(signature, timestamp.encode() + b"." + request.body):
            raise InvalidSignature("X-Bank-Signature does not fit this body and timestamp.")
        return "bank", None

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002
        return "Sluice-Bank-HMAC-SHA256"


def _is_right(signature: str, signed: bytes) -> bool:
    given = signature.lower().encode()
    expected = [
        hmac.digest(key.encode(), signed, "sha256").hex().encode() for key in settings.BANK_NOTIFICATION_KEYS
    ]
    # All of them are compared: time must not tell which key it is.
    return sum(hmac.compare_digest(given, one) for one in expected) > 0


class BankTransferSerializer(RequestSerializer):
    bank_reference = Text(
        max_length=100,
        pattern=r"[!-~]{1,100}",
        says="This field must have 1 to 100 printable ASCII characters, without blanks.",
    )
    account_number = Text(pattern=r"[0-9]{10}", says="This field must have exactly 10 digits.")
    amount = Amount(maximum=10**15)  # what has arrived has arrived
    currency = Currency()
    sender_name = SenderName(required=False)
    sender_account_number = Text(
        required=False, pattern=r"[0-9]{10}", says="This field must have exactly 10 digits."
    )
    sender_bank_code = BankCode(required=False)


TRANSFER = BankTransferSerializer()


class BankTransfersView(APIView):
    """Take in a transfer that has arrived at one of our numbers."""

    authentication_classes = (SignedByBank,)
    permission_classes = ()
    throttle_classes = ()
    schema = None  # it is the bank's, not the merchants'

    def post(self, request: Request) -> Response:
        told: dict[str, Any] = TRANSFER.run_validation(request.data)
        receipt = transfers.receive(Notice(**({"sender_name": SENDER} | told)))
        transfer = receipt.transfer
        return Response(
            {
                "bank_reference": transfer.bank_reference,
                "applied": transfer.applied,
                "reason": transfer.reason,
                "replayed": not receipt.is_new,
            }
        )
