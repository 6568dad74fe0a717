"""Errors of the client. All are `SluiceError`s.

A declined payment is no error: it is a payment with the status `failed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NEW_REFERENCE = "Use a new reference, or repeat the first request exactly."
SIGNED_LINES = ("timestamp", "nonce", "method", "target", "body hash")


class SluiceError(Exception):
    """Anything that this client raises about a request, an answer or an event."""


class TransportError(SluiceError):
    """There was no answer."""


class NotSent(TransportError):
    """No byte of the request left: it can be sent again, whatever it was."""


class OutcomeUnknown(TransportError):
    """The request may have arrived. `reference` names what to ask for, if the request had one."""

    def __init__(self, message: str, *, reference: str = "") -> None:
        super().__init__(message)
        self.reference = reference


class ApiError(SluiceError):
    """The service refused a request. Decide by `code`.

    `errors` has an object for each wrong field, with `field`, `code` and `message`; `retry_after` is in seconds;
    `document` is the whole answer (RFC 9457). `signed` is the text that this client signed, after a 401.
    """

    def __init__(
        self,
        status: int,
        document: Mapping[str, Any],
        *,
        retry_after: float | None = None,
        signed: str = "",
    ) -> None:
        self.status = status
        self.signed = signed
        self.document = document
        self.code = str(document.get("code", ""))
        self.title = str(document.get("title", ""))
        self.detail = str(document.get("detail", ""))
        self.errors = [error for error in document.get("errors") or () if isinstance(error, dict)]
        self.request_id = str(document.get("request_id", ""))
        self.retry_after = retry_after
        super().__init__(self._text())

    def _text(self) -> str:
        what = (
            self.detail
            or self.title
            or "The answer is not one of Sluice. Check host, port and https of the address."
        )
        reference = f" (request {self.request_id})" if self.request_id else ""
        return f"{self.status} {self.code}: {what}{reference}".replace(" :", ":") + self._cause()

    def _cause(self) -> str:
        """Return what the service found out: the fields that differ, or the mistake behind a signature."""
        if differs := self.document.get("differs"):
            return f"\nFields that differ: {', '.join(differs)}."
        mistake = self.document.get("mistake")
        return f"\n{mistake.get('message')}" if isinstance(mistake, dict) else ""


class InvalidRequest(ApiError):
    """400 and other 4xx: the request is wrong. Its text lists every wrong field."""

    def _text(self) -> str:
        fields = "".join(f"\n  {error.get('field')}: {error.get('message')}" for error in self.errors)
        return super()._text() + fields


class AuthenticationFailed(ApiError):
    """401: the key, the signature, the timestamp or the nonce.

    Its text compares what the service and this client signed, and says how far this machine's clock is off.
    """

    def _text(self) -> str:
        return super()._text() + self._clock() + self._comparison()

    def _clock(self) -> str:
        server_time, own = self.document.get("server_time"), self.signed.partition("\n")[0]
        if self.code != "timestamp_out_of_range" or not isinstance(server_time, int) or not own.isdecimal():
            return ""
        difference = server_time - int(own)
        return f"\nThe clock of this machine is {abs(difference)} s {'slow' if difference > 0 else 'fast'}."

    def _comparison(self) -> str:
        """Return both texts side by side, with a mark at the first line that differs."""
        theirs = str(self.document.get("string_to_sign") or "").split("\n")
        ours = self.signed.split("\n")
        if len(theirs) != len(SIGNED_LINES) or len(ours) != len(SIGNED_LINES):
            return ""
        differing = next((place for place in range(len(ours)) if ours[place] != theirs[place]), None)
        width = max(map(len, [*theirs, "the service signed"]))
        rows = [f"  {'':10}  {'the service signed':{width}}  this client signed"]
        rows += [
            f"{'>' if place == differing else ' '} {name:10}  {theirs[place]:{width}}  {ours[place]}"
            for place, name in enumerate(SIGNED_LINES)
        ]
        if differing is None and "mistake" not in self.document:
            rows.append("Both are the same, so the secret key is not that of this API key.")
        return "\n" + "\n".join(rows)


class Forbidden(ApiError):
    """403: the key may not do this, or only the sandbox does it."""


class NotFound(ApiError):
    """404: your business has no such thing."""


class Conflict(ApiError):
    """409: the request conflicts with what exists."""


class DuplicateReference(Conflict):
    """The reference belongs to another request, whose result has `id` and had `first_status` just now."""

    def _text(self) -> str:
        if not self.id:
            return super()._text()
        return f"{super()._text()}\nThe first request made {self.id}, {self.first_status}. {NEW_REFERENCE}"

    @property
    def id(self) -> str:
        return str(self._existing().get("id", ""))

    @property
    def first_status(self) -> str:
        return str(self._existing().get("status", ""))

    def _existing(self) -> Mapping[str, Any]:
        existing = self.document.get("existing")
        return existing if isinstance(existing, dict) else {}


class InvalidState(Conflict):
    """What exists is not in a state in which this is possible."""


class RateLimited(ApiError):
    """429: too many calls. Wait for `retry_after` seconds."""


class ServerTrouble(ApiError):
    """5xx: the service failed."""


class RailUnavailable(ServerTrouble):
    """No acquirer or bank can take this now. Nothing was executed."""


BY_CODE: dict[str, type[ApiError]] = {
    "malformed_json": InvalidRequest,
    "invalid_request": InvalidRequest,
    "unknown_field": InvalidRequest,
    "not_allowed_here": InvalidRequest,
    "reserved_reference": InvalidRequest,
    "card_number_misplaced": InvalidRequest,
    "unsupported_currency": InvalidRequest,
    "no_price": InvalidRequest,
    "not_supported": InvalidRequest,
    "invalid_payment_method": InvalidRequest,
    "amount_too_small": InvalidRequest,
    "amount_too_large": InvalidRequest,
    "destination_required": InvalidRequest,
    "length_required": InvalidRequest,
    "body_too_large": InvalidRequest,
    "unsupported_media_type": InvalidRequest,
    "not_acceptable": InvalidRequest,
    "method_not_allowed": InvalidRequest,
    "uri_too_long": InvalidRequest,
    "headers_too_large": InvalidRequest,
    "missing_header": AuthenticationFailed,
    "malformed_header": AuthenticationFailed,
    "unknown_key": AuthenticationFailed,
    "timestamp_out_of_range": AuthenticationFailed,
    "invalid_signature": AuthenticationFailed,
    "nonce_reused": AuthenticationFailed,
    "key_may_not_write": Forbidden,
    "key_may_not_decide": Forbidden,
    "sandbox_only": Forbidden,
    "not_found": NotFound,
    "unknown_account": NotFound,
    "unknown_beneficiary": NotFound,
    "duplicate_reference": DuplicateReference,
    "invalid_state": InvalidState,
    "not_refundable": InvalidState,
    "insufficient_funds": InvalidState,
    "beneficiary_blocked": InvalidState,
    "payout_limit_reached": InvalidState,
    "payouts_frozen": InvalidState,
    "payment_disputed": InvalidState,
    "slug_taken": Conflict,
    "url_taken": Conflict,
    "limit_reached": Conflict,
    "rate_limited": RateLimited,
    "internal_error": ServerTrouble,
    "temporarily_unavailable": ServerTrouble,
    "rail_unavailable": RailUnavailable,
}
_BY_STATUS: dict[int, type[ApiError]] = {
    401: AuthenticationFailed,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    429: RateLimited,
}
_CLIENT_ERRORS, _SERVER_ERRORS = range(400, 500), range(500, 600)


def error_of(
    status: int, document: Mapping[str, Any], *, retry_after: float | None = None, signed: str = ""
) -> ApiError:
    """Return the error of an answer: of its code, or of its status if this version does not know the code.

    >>> error_of(409, {"code": "duplicate_reference", "existing": {"id": "7", "status": "failed"}}).first_status
    'failed'
    >>> type(error_of(418, {"code": "short_and_stout"})).__name__
    'InvalidRequest'
    """
    kind = BY_CODE.get(str(document.get("code", ""))) or _BY_STATUS.get(status) or _of_range(status)
    return kind(status, document, retry_after=retry_after, signed=signed)


def _of_range(status: int) -> type[ApiError]:
    if status in _CLIENT_ERRORS:
        return InvalidRequest
    return ServerTrouble if status in _SERVER_ERRORS else ApiError
