"""Errors of the API as RFC 9457 problem details, and the table of their codes.

Domain errors are `kit.api.errors.Problem`s with their own codes. The others come from DRF or Django, or are unexpected.
None of them repeats a value of the request.
"""

import json
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import Error as DatabaseError
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from rest_framework import exceptions
from rest_framework.response import Response

from config import lock_timeout
from config.request_metrics import PROBLEMS_SENT
from kit.api.errors import Problem
from kit.masking import mask_card_numbers

log = structlog.get_logger("sluice.errors")

CONTENT_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Kind:
    """An error code with its HTTP status, title and advice."""

    status: int
    title: str
    help: str


PROBLEMS: dict[str, Kind] = {
    "malformed_json": Kind(400, "The body is not one JSON object", "Send one JSON object in UTF-8, without duplicate keys, NaN or Infinity."),
    "invalid_request": Kind(400, "The request has invalid fields", "See `errors`, which lists every invalid field by its dotted path."),
    "unknown_field": Kind(400, "The request has an unknown field", "Remove the field or correct its spelling. Unknown fields are refused, because ignoring a typing error could move money wrongly."),
    "not_allowed_here": Kind(400, "The request has a field of another kind of request", "Remove the field. It belongs to another request_type or payment_method."),
    "unsupported_currency": Kind(400, "The currency is not enabled", "Use an ISO 4217 code that is enabled for the business. A payout's currency must be the bank's: see GET /api/banks."),
    "no_price": Kind(400, "There is no price for this currency", "Use another currency, or ask your operator to agree a price for it."),
    "invalid_payment_method": Kind(400, "The virtual account cannot receive payments", "Use the `id` of one of your active virtual accounts, in its currency."),
    "reserved_reference": Kind(400, "The reference has a reserved prefix", "Choose a reference that does not begin with va_, chk_, pl_ or return_: Sluice generates those."),
    "card_number_misplaced": Kind(400, "The card number is in another field", "Send the card number in `source.pan` only. Other fields may be stored, shown or forwarded."),
    "destination_required": Kind(400, "The destination of the returned money is missing", "Add `destination` with name, account_number and bank_code: the bank did not name an account of the sender that payouts can reach."),
    "amount_too_large": Kind(400, "The amount is too large", "Use an amount of at most what was authorised or is left to refund."),
    "missing_header": Kind(401, "An authentication header is missing", "Merchants send X-Api-Key, X-Timestamp, X-Nonce and X-Signature; the hosting bank sends X-Bank-Timestamp and X-Bank-Signature."),
    "malformed_header": Kind(401, "An authentication header is malformed", "Send each header once, in the documented format."),
    "unknown_key": Kind(401, "The key is unknown, revoked or expired", "Use the public id of an active key pair."),
    "timestamp_out_of_range": Kind(401, "The timestamp is out of range", "Correct your clock. `server_time` is the server's time. Timestamps are accepted within 300 seconds."),
    "invalid_signature": Kind(401, "The signature is wrong", "Compare your string to sign with `string_to_sign`, which the sandbox returns."),
    "nonce_reused": Kind(401, "The nonce was used before", "Sign again with a new nonce. The reference makes a repeated request safe."),
    "key_may_not_write": Kind(403, "The key is read-only", "Use a key pair with full access."),
    "key_may_not_decide": Kind(403, "API keys may not decide about unapplied transfers", "Decide in the dashboard, or ask your operator to allow decisions by your API keys."),
    "sandbox_only": Kind(403, "Available only in the sandbox", "Call it in the sandbox."),
    "not_found": Kind(404, "The resource was not found", "Check the address and the reference."),
    "unknown_account": Kind(404, "The account number was not found", "Use the account number of one of your virtual accounts, or of an open payment into one."),
    "unknown_beneficiary": Kind(404, "The bank did not find the account", "Check the account number and the bank with the beneficiary."),
    "method_not_allowed": Kind(405, "The method is not allowed here", "See the `Allow` header."),
    "not_acceptable": Kind(406, "The response format is not available", "Accept application/json."),
    "duplicate_reference": Kind(409, "The reference belongs to another request", "Use a new reference, or repeat the first request exactly."),
    "not_refundable": Kind(409, "This can't be refunded", "Only payments can be refunded. `detail` says why this one can't."),
    "invalid_state": Kind(409, "The state does not allow this", "Look up the current state of the payment."),
    "length_required": Kind(411, "The body's length is missing", "Send Content-Length instead of a chunked body."),
    "body_too_large": Kind(413, "The body is too large", "Send at most 64 KiB."),
    "uri_too_long": Kind(414, "The request target is too long", "Send a request line of at most 8190 bytes."),
    "unsupported_media_type": Kind(415, "The body is not JSON", "Send Content-Type: application/json, and no Content-Encoding."),
    "headers_too_large": Kind(431, "The headers are too large", "Send at most 100 headers of at most 8190 bytes each."),
    "rate_limited": Kind(429, "Too many requests", "Retry after the number of seconds in `Retry-After`."),
    "internal_error": Kind(500, "Something went wrong on our side", "Try again with the same reference; nothing is done twice. If the error persists, send us the request id."),
    "rail_unavailable": Kind(503, "This kind of payment is not available", "Try again later. Nothing was stored."),
    "temporarily_unavailable": Kind(503, "The service is not available at the moment", "Try again after `Retry-After`, with the same reference."),
}  # fmt: skip

# DRF's error codes that differ from ours.
RENAMED = {
    "throttled": "rate_limited",
    "parse_error": "malformed_json",
    "permission_denied": "key_may_not_write",
}
# A validation error with only one of these codes gets that code. Any other mix is invalid_request.
SPEAKING_CODES = frozenset(
    {
        "unknown_field",
        "not_allowed_here",
        "unsupported_currency",
        "no_price",
        "invalid_payment_method",
        "reserved_reference",
        "card_number_misplaced",
        "destination_required",
    }
)
SIMULATION = "/api/virtual-accounts/simulate"
RETRY_AFTER = 5  # seconds, if the database is unavailable


def answer_exception(exception: Exception, context: dict[str, Any]) -> Response | None:
    """Convert any exception of an API view into a response. DRF calls this."""
    exception = _as_api_exception(exception)
    request = context["request"]
    PROBLEMS_SENT.labels(_code(exception)).inc()
    body = problem(
        _code(exception),
        request_id=getattr(request, "id", ""),
        status=exception.status_code,
        detail=_detail(exception),
    )
    body |= _members(exception) | _also(getattr(request, "path", ""), body["detail"])
    response = Response(body, status=exception.status_code, content_type=CONTENT_TYPE)
    if getattr(exception, "auth_header", None):
        response["WWW-Authenticate"] = exception.auth_header  # type: ignore[attr-defined]
    wait = getattr(exception, "wait", None)
    if wait is not None:
        response["Retry-After"] = str(max(int(-(-wait // 1)), 1))
    return response


def problem(code: str, *, request_id: str, status: int = 0, detail: str = "") -> dict[str, Any]:
    """Return the members of one problem document."""
    kind = PROBLEMS[code]
    return {
        "type": f"{settings.PUBLIC_URL}/docs/errors/{code}",
        "title": kind.title,
        "status": status or kind.status,
        "detail": detail or kind.help,
        "code": code,
        "request_id": request_id,
    }


def problem_response(request: HttpRequest, code: str, *, detail: str = "") -> HttpResponse:
    """Return a problem response outside of DRF's views."""
    PROBLEMS_SENT.labels(code).inc()
    body = problem(code, request_id=getattr(request, "id", ""), detail=detail)
    body |= _also(request.path, body["detail"])
    return HttpResponse(json.dumps(body), status=PROBLEMS[code].status, content_type=CONTENT_TYPE)


def _also(path: str, detail: str) -> dict[str, Any]:
    """Return the members that an error of the simulation endpoint has in addition to the problem."""
    return {"success": False, "message": detail} if path == SIMULATION else {}


class TemporarilyUnavailable(Problem):
    status_code = 503
    default_code = "temporarily_unavailable"
    default_detail = "The service is not available at the moment. Try again with the same reference."

    wait = RETRY_AFTER


class BadRequest(Problem):
    status_code = 400
    default_code = "invalid_request"
    default_detail = "The request's address or headers cannot be read."


class BodyTooLarge(Problem):
    status_code = 413
    default_code = "body_too_large"
    default_detail = "Send at most 64 KiB."


class InternalError(Problem):
    status_code = 500
    default_code = "internal_error"
    default_detail = (
        "Something went wrong on our side. Try again with the same reference: nothing is done twice."
    )


# Django's exceptions for invalid requests. Subclasses come first.
FORESEEN: tuple[tuple[type[Exception], type[exceptions.APIException]], ...] = (
    (Http404, exceptions.NotFound),
    (PermissionDenied, exceptions.PermissionDenied),
    (RequestDataTooBig, BodyTooLarge),
    (SuspiciousOperation, BadRequest),
    (UnreadablePostError, BadRequest),
)


def _as_api_exception(exception: Exception) -> exceptions.APIException:
    if isinstance(exception, exceptions.APIException):
        return exception
    for kind, answer in FORESEEN:
        if isinstance(exception, kind):
            return answer()
    lock_timeout.note(exception)
    _log_surprise(exception)
    is_database_away = isinstance(exception, OperationalError | InterfaceError)
    return TemporarilyUnavailable() if is_database_away else InternalError()


def _log_surprise(exception: Exception) -> None:
    """Log an unexpected exception with its location and its message without numbers, which could be a card's.

    The message of a database error is omitted, because it may quote a row.
    """
    said = "" if isinstance(exception, DatabaseError) else _NUMBER.sub("…", str(exception))
    log.error(
        "request failed",
        error=type(exception).__name__,
        said=said,
        where="".join(traceback.format_tb(exception.__traceback__)),
    )


_NUMBER = re.compile(r"[0-9][0-9 -]*[0-9]")


def _code(exception: exceptions.APIException) -> str:
    if isinstance(exception, exceptions.ValidationError):
        codes = {item["code"] for item in flat_errors(exception.detail)}
        return codes.pop() if len(codes) == 1 and codes <= SPEAKING_CODES else "invalid_request"
    code = str(exception.default_code)
    return RENAMED.get(code, code)


def _detail(exception: exceptions.APIException) -> str:
    if isinstance(exception, exceptions.ValidationError):
        return "See errors: every wrong field, by its dotted path."
    if isinstance(exception, Problem):
        return mask_card_numbers(str(exception.detail))
    return PROBLEMS[_code(exception)].help  # DRF's own messages repeat values of the request


def _members(exception: exceptions.APIException) -> dict[str, Any]:
    if isinstance(exception, exceptions.ValidationError):
        return {"errors": list(flat_errors(exception.detail))}
    return exception.extra if isinstance(exception, Problem) else {}


def flat_errors(detail: Any, path: str = "") -> Iterator[dict[str, str]]:
    """Yield all errors of a nested structure with their dotted paths."""
    if isinstance(detail, dict):
        for name, below in detail.items():
            yield from flat_errors(below, f"{path}.{name}" if path else str(name))
    elif isinstance(detail, list):
        for item in detail:
            yield from flat_errors(item, path)
    else:
        found = {"field": path, "code": getattr(detail, "code", "invalid"), "message": str(detail)}
        suggestion = getattr(detail, "suggestion", "")
        yield found | ({"suggestion": suggestion} if suggestion else {})
