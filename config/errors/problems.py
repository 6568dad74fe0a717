"""Errors of the API as RFC 9457 problem details, and the table of their codes.

Domain errors are `kit.api.errors.Problem`s with their own codes. The others come from DRF or Django, or are unexpected.
None of them repeats a value of the request.
"""

from collections.abc import Iterator
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from rest_framework import exceptions
from rest_framework.response import Response

from config.database import lock_timeout
from config.errors.error_codes import ERROR_CODES
from config.logging.request_metrics import PROBLEMS_SENT
from kit.api.errors import Problem
from kit.api.json.json_answers import json_answer
from kit.connectors.connectors import NotSupported
from kit.text.exception_summaries import summary_of
from kit.text.masking import mask_card_numbers

log = structlog.get_logger("sluice.errors")

CONTENT_TYPE = "application/problem+json"


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
        "amount_too_small",
        "no_price",
        "not_supported",
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
    body = problem_of(exception, request_id=getattr(request, "id", ""))
    body |= _also(getattr(request, "path", ""), body["detail"])
    response = Response(body, status=exception.status_code, content_type=CONTENT_TYPE)
    if getattr(exception, "auth_header", None):
        response["WWW-Authenticate"] = exception.auth_header  # type: ignore[attr-defined]
    wait = getattr(exception, "wait", None)
    if wait is not None:
        response["Retry-After"] = str(max(int(-(-wait // 1)), 1))
    return response


def problem_of(exception: exceptions.APIException, *, request_id: str) -> dict[str, Any]:
    """Return the problem document of an exception, with the members that only some problems have."""
    status, detail = exception.status_code, _detail(exception)
    body = problem(_code(exception), request_id=request_id, status=status, detail=detail)
    return body | _members(exception)


def problem(code: str, *, request_id: str, status: int = 0, detail: str = "") -> dict[str, Any]:
    """Return the members of one problem document."""
    kind = ERROR_CODES[code]
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
    return HttpResponse(
        json_answer(body),
        status=ERROR_CODES[code].status,
        content_type=CONTENT_TYPE,
        headers={"Cache-Control": "no-store"},
    )


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
    default_detail = (
        "Send at most 64 KiB, or 1 MiB to POST /api/payout-batches. A file of a dispute has at most 4 MiB."
    )


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
    log.error("request failed", **summary_of(exception))
    return TemporarilyUnavailable() if is_database_away(exception) else InternalError()


def is_database_away(error: BaseException | None) -> bool:
    """Return whether the database is unavailable, or didn't get to a request in time."""
    return isinstance(error, OperationalError | InterfaceError)


def _code(exception: exceptions.APIException) -> str:
    if isinstance(exception, exceptions.ValidationError):
        codes = {item["code"] for item in flat_errors(exception.detail)}
        return codes.pop() if len(codes) == 1 and codes <= SPEAKING_CODES else "invalid_request"
    code = str(exception.default_code)
    return RENAMED.get(code, code)


def _detail(exception: exceptions.APIException) -> str:
    if isinstance(exception, NotSupported):
        return exception.sentences
    if isinstance(exception, exceptions.ValidationError):
        return "See errors: every wrong field, by its dotted path."
    if isinstance(exception, Problem):
        return mask_card_numbers(str(exception.detail))
    return ERROR_CODES[_code(exception)].help  # DRF's own messages repeat values of the request


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
