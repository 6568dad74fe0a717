"""Problem documents for requests that the HTTP server refuses before they reach Django. They quote nothing of them."""

import uuid
from http import HTTPStatus
from typing import Any

from django.template import loader
from gunicorn import util
from gunicorn.http import errors
from gunicorn.workers.gthread import ThreadWorker
from waitress import utilities
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.task import ErrorTask

# Exceptions that gunicorn raises while it reads a request, with the code of the answer. Subclasses come first.
REFUSALS: tuple[tuple[type[Exception], str], ...] = (
    (errors.LimitRequestLine, "uri_too_long"),
    (errors.LimitRequestHeaders, "headers_too_large"),
    (errors.ConfigurationProblem, "internal_error"),
    (errors.ParseException, "invalid_request"),
)
# Errors of waitress. Subclasses come first.
REFUSALS_IN_SANDBOX: tuple[tuple[type, str], ...] = (
    (utilities.RequestHeaderFieldsTooLarge, "headers_too_large"),
    (utilities.RequestEntityTooLarge, "body_too_large"),
    (utilities.InternalServerError, "internal_error"),
    (utilities.Error, "invalid_request"),
)
UNREADABLE = "The request line, a header or the body's chunks cannot be read."


class ProblemWorker(ThreadWorker):
    """gunicorn's threaded worker, which answers refused requests with problem documents."""

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:
        code = next((code for kind, code in REFUSALS if isinstance(exc, kind)), "internal_error")
        if code == "internal_error":
            self.log.error("Error handling request", exc_info=exc)
        else:
            # The exception's message quotes the request, which may hold a card number.
            self.log.warning("Invalid request: %s", type(exc).__name__)
        status, headers, body = refusal(code)
        headers += [("Connection", "close"), ("Content-Length", str(len(body)))]
        lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers), "", ""]
        try:
            util.write_nonblock(client, "\r\n".join(lines).encode() + body)
        except Exception:  # noqa: BLE001  (the client disconnected)
            self.log.debug("Failed to send error message.")


class ProblemTask(ErrorTask):
    """waitress's answer to a refused request: a page for a browser, else a problem document."""

    def execute(self) -> None:
        error = self.request.error
        code = next(code for kind, code in REFUSALS_IN_SANDBOX if isinstance(error, kind))
        self.request.error = _Refusal(code, as_page=_is_for_a_person(self.request))
        super().execute()


def _is_for_a_person(request: HTTPRequestParser) -> bool:
    from config.middleware import MACHINES  # noqa: PLC0415  (it needs the models)

    return "text/html" in request.headers.get("ACCEPT", "") and not request.path.startswith(MACHINES)


class _Refusal(utilities.Error):
    def __init__(self, code: str, *, as_page: bool) -> None:
        super().__init__(code)
        self.as_page = as_page

    def to_response(self, _ident: str | None = None) -> tuple[str, list[tuple[str, str]], bytes]:
        status, headers, document = refusal(self.body)
        if not self.as_page:
            return status, headers, document
        page = loader.render_to_string("400.html", {"request_id": dict(headers)["X-Request-Id"]})
        return status, [("Content-Type", "text/html; charset=utf-8"), *headers[1:]], page.encode()


class LengthParser(HTTPRequestParser):
    """waitress's parser, which also refuses a length of more digits than Python converts."""

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError:
            raise ParsingError("Content-Length is invalid") from None


class ProblemChannel(HTTPChannel):
    """A connection of waitress whose refused requests get problem documents."""

    error_task_class = ProblemTask
    parser_class = LengthParser


def refusal(code: str) -> tuple[str, list[tuple[str, str]], bytes]:
    """Return the status line's text, headers and body of the problem with a code."""
    from config.errors.problems import CONTENT_TYPE, problem  # noqa: PLC0415
    from config.logging.request_metrics import PROBLEMS_SENT  # noqa: PLC0415  (it needs the models, as the next one does)
    from kit.api.json.json_answers import json_answer  # noqa: PLC0415

    PROBLEMS_SENT.labels(code).inc()
    request_id = uuid.uuid4().hex
    document = problem(code, request_id=request_id, detail=UNREADABLE if code == "invalid_request" else "")
    status = HTTPStatus(document["status"])
    headers = [
        ("Content-Type", CONTENT_TYPE),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Request-Id", request_id),
    ]
    return f"{status.value} {status.phrase}", headers, json_answer(document)
