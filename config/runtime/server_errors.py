"""Problem documents for requests that the HTTP server refuses before they reach Django."""

import uuid
from http import HTTPStatus
from typing import Any

from gunicorn import util
from gunicorn.http import errors

# Exceptions that gunicorn raises while it reads a request, with the code of the answer. Subclasses come first.
REFUSALS: tuple[tuple[type[Exception], str], ...] = (
    (errors.LimitRequestLine, "uri_too_long"),
    (errors.LimitRequestHeaders, "headers_too_large"),
    (errors.ConfigurationProblem, "internal_error"),
    (errors.ParseException, "invalid_request"),
)
UNREADABLE = "The request line, a header or the body's chunks cannot be read."


class ProblemAnswers:
    """Mixin for gunicorn workers: answer errors with problem documents that quote nothing of the request."""

    log: Any

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:
        code = next((code for kind, code in REFUSALS if isinstance(exc, kind)), "internal_error")
        if code == "internal_error":
            self.log.error("Error handling request", exc_info=exc)
        else:
            # The exception's message quotes the request, which may hold a card number.
            self.log.warning("Invalid request: %s", type(exc).__name__)
        try:
            util.write_nonblock(client, answer(code))
        except Exception:  # noqa: BLE001  (the client disconnected)
            self.log.debug("Failed to send error message.")


def answer(code: str) -> bytes:
    """Return a complete HTTP response with the problem of a code."""
    from config.problems import CONTENT_TYPE, problem  # noqa: PLC0415
    from config.request_metrics import PROBLEMS_SENT  # noqa: PLC0415  (it needs the models, as the next one does)
    from kit.api.json_answers import json_answer  # noqa: PLC0415

    PROBLEMS_SENT.labels(code).inc()
    request_id = uuid.uuid4().hex
    document = problem(code, request_id=request_id, detail=UNREADABLE if code == "invalid_request" else "")
    status = HTTPStatus(document["status"])
    body = json_answer(document)
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        "Connection: close\r\n"
        f"Content-Type: {CONTENT_TYPE}\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        f"X-Request-Id: {request_id}\r\n\r\n"
    )
    return head.encode() + body
