"""Answers of the HTTP server itself, for requests that never reach Django, as problem documents."""

import json
import uuid
from http import HTTPStatus
from typing import Any

from gunicorn import util
from gunicorn.http import errors

# What gunicorn raises while it reads a request, and the code of its answer; a narrower class before a wider one.
REFUSALS: tuple[tuple[type[Exception], str], ...] = (
    (errors.LimitRequestLine, "uri_too_long"),
    (errors.LimitRequestHeaders, "headers_too_large"),
    (errors.ConfigurationProblem, "internal_error"),
    (errors.ParseException, "invalid_request"),
)
UNREADABLE = "The request line, a header or the body's chunks cannot be read."


class ProblemAnswers:
    """A part of a gunicorn worker: it answers in the API's form, and repeats nothing of the request."""

    log: Any

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:  # noqa: ARG002
        code = next((code for kind, code in REFUSALS if isinstance(exc, kind)), "internal_error")
        if code == "internal_error":
            self.log.error("Error handling request", exc_info=exc)
        else:
            # What the exception says quotes the request, which may hold a card number.
            self.log.warning("Invalid request: %s", type(exc).__name__)
        try:
            util.write_nonblock(client, answer(code))
        except Exception:  # noqa: BLE001  (the caller has gone)
            self.log.debug("Failed to send error message.")


def answer(code: str) -> bytes:
    """Return a whole HTTP response with the problem of that code."""
    from config.metrics import PROBLEMS_TOLD  # noqa: PLC0415  (it needs the models, as the next one does)
    from config.problems import CONTENT_TYPE, problem  # noqa: PLC0415

    PROBLEMS_TOLD.labels(code).inc()
    request_id = uuid.uuid4().hex
    document = problem(code, request_id=request_id, detail=UNREADABLE if code == "invalid_request" else "")
    status = HTTPStatus(document["status"])
    body = json.dumps(document).encode()
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
