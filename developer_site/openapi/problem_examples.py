"""An example of each problem, made like the response: from the exception that the service raises.

Problems without an exception here come from DRF or the HTTP server, whose text is the advice of the code.
"""

from datetime import UTC, datetime
from typing import Any

from rest_framework.exceptions import APIException, ValidationError

from config.errors.problems import (
    BodyTooLarge,
    InternalError,
    TemporarilyUnavailable,
    problem,
    problem_of,
)
from kit.api.fields.field_codes import FieldCode
from kit.api.fields.field_errors import NOT_ALLOWED_HERE, InvalidFields, UnknownField, error
from kit.api.json.strict_json import MalformedJSON
from kit.api.replays import DuplicateReference
from kit.connectors.connectors import ConnectorUnavailable, NotSupported
from merchants.api.api_key_permissions import KeyMayNotWrite
from merchants.api.authentication import (
    InvalidSignature,
    MalformedHeader,
    MissingHeader,
    NonceReused,
    TimestampOutOfRange,
    UnknownKey,
)
from merchants.api.signed_headers import form_error
from payments.models import Transaction
from payments.models.state_errors import InvalidState
from payments.rails.protocol import ThreeDSecureSupport
from payments.representation.payments import PAYMENT
from payments.sandbox.simulated_transfers import SandboxOnly
from payments.services.fee_rules import NoPrice
from payments.services.links.links import SlugTaken
from payments.services.payouts.controls.payout_freezes import PayoutsFrozen
from payments.services.payouts.controls.payout_limits import PayoutLimitReached, ReachedLimit
from payments.services.payouts.name_enquiries import UnknownBeneficiary
from payments.services.rails.required_capabilities import WITHOUT_THREE_D_SECURE
from payments.services.refunds.refund_cover import InsufficientFunds
from payments.services.refunds.refunds import NOT_REFUNDABLE, NotRefundable
from payments.services.transactions.operations import AmountTooLarge
from payments.services.transfers.api_decisions import KeyMayNotDecide
from payments.services.transfers.return_destinations import DESTINATION_REQUIRED
from virtual_accounts.services.transfer_matching import UnknownAccount
from webhooks.endpoints.endpoint_changes import TooManyEndpoints, UrlTaken

REQUEST_ID = "5f0c6c1f0c9e4b0f8a3a2e1d7c6b5a49"
EXISTING_ID = PAYMENT["id"].example
SERVER_TIME = 1_769_846_400
STRING_TO_SIGN = (
    f"{SERVER_TIME}\nA1b2C3d4E5f6G7h8\nGET\n/api/banks\n"
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)
EXAMPLE_MISTAKE = {
    "code": "line_feed_at_end",
    "message": "You signed with a line feed at the end of the string.",
}
WRONG_CARD_NUMBER = "This field must be a card number."
ONLY_IN_SIMULATIONS = "unknown_account"  # whose errors repeat `detail` as `message`


def _wrong(field: str, code: FieldCode, message: str) -> ValidationError:
    """Return the error of one field, or of a field of an object."""
    outer, _, inner = field.partition(".")
    found = error(message, code)
    return ValidationError({outer: {inner: found} if inner else found})


_REACHED = ReachedLimit(
    name="per_day",
    amount=50_000_000,
    used=49_000_000,
    ends_at=datetime(2026, 1, 31, 23, tzinfo=UTC),
)
EXAMPLE_LIMIT = _REACHED.shown()

_RAISED: dict[str, APIException] = {
    "malformed_json": MalformedJSON("The body is not JSON: see line 4, column 3."),
    "invalid_request": _wrong("source.pan", "invalid_card_number", WRONG_CARD_NUMBER),
    "unknown_field": InvalidFields({"narratoin": [UnknownField(suggestion="narration")]}),
    "not_allowed_here": _wrong("redirect_url", "not_allowed_here", NOT_ALLOWED_HERE),
    "unsupported_currency": _wrong(
        "currency", "unsupported_currency", "This business is enabled for NGN or USD only."
    ),
    "amount_too_small": _wrong(
        "amount", "amount_too_small", "The smallest payment of this business is NGN 100.00 (10000)."
    ),
    "no_price": NoPrice("JPY"),
    "not_supported": NotSupported({"3ds.enabled": WITHOUT_THREE_D_SECURE[ThreeDSecureSupport.NEVER]}),
    "invalid_payment_method": _wrong(
        "payment_method_id",
        "invalid_payment_method",
        "This isn't one of your active virtual accounts, or it uses another currency.",
    ),
    "reserved_reference": _wrong(
        "reference",
        "reserved_reference",
        "This field may not begin with va_, chk_, pl_, return_ or settlement_",
    ),
    "card_number_misplaced": _wrong(
        "narration", "card_number_misplaced", "This field may not hold the card's number."
    ),
    "destination_required": _wrong("destination", "destination_required", DESTINATION_REQUIRED),
    "amount_too_large": AmountTooLarge("At most 50000 is left to refund."),
    "missing_header": MissingHeader("X-Nonce and X-Signature are missing."),
    "malformed_header": MalformedHeader(form_error("X-Nonce", "short")),
    "unknown_key": UnknownKey(),
    "timestamp_out_of_range": TimestampOutOfRange(
        "X-Timestamp is 3600 seconds behind the server's clock; send Unix seconds within ±300 s of it. server_time is "
        "the server's clock.",
        server_time=SERVER_TIME,
    ),
    "invalid_signature": InvalidSignature(string_to_sign=STRING_TO_SIGN, mistake=EXAMPLE_MISTAKE),
    "nonce_reused": NonceReused(),
    "key_may_not_write": KeyMayNotWrite(),
    "key_may_not_decide": KeyMayNotDecide(),
    "sandbox_only": SandboxOnly(),
    "unknown_account": UnknownAccount(),
    "unknown_beneficiary": UnknownBeneficiary(),
    "duplicate_reference": DuplicateReference(
        existing={"id": EXISTING_ID, "status": "success"}, differs=["amount"]
    ),
    "url_taken": UrlTaken(existing={"id": EXISTING_ID}),
    "limit_reached": TooManyEndpoints(),
    "slug_taken": SlugTaken(),
    "insufficient_funds": InsufficientFunds(),
    "payout_limit_reached": PayoutLimitReached.of(_REACHED, "NGN"),
    "payouts_frozen": PayoutsFrozen(),
    "not_refundable": NotRefundable(NOT_REFUNDABLE[Transaction.RequestType.CARD_CHECK]),
    "invalid_state": InvalidState(
        "Only an authorised payment that was not captured or voided allows this. This payment is success."
    ),
    "body_too_large": BodyTooLarge(),
    "internal_error": InternalError(),
    "rail_unavailable": ConnectorUnavailable(),
    "temporarily_unavailable": TemporarilyUnavailable(),
}


def problem_example(code: str) -> dict[str, Any]:
    """Return an example of a problem, as the service sends it."""
    raised = _RAISED.get(code)
    body = (
        problem(code, request_id=REQUEST_ID) if raised is None else problem_of(raised, request_id=REQUEST_ID)
    )
    return body | ({"success": False, "message": body["detail"]} if code == ONLY_IN_SIMULATIONS else {})
