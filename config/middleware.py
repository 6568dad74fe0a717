"""Middleware: request ids, security headers, request checks and logging."""

import re
import time
import uuid
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import BadRequest, DisallowedHost, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.response import HttpResponseBase, HttpResponseRedirectBase, ResponseHeaders
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.gzip import GZipMiddleware
from django.utils import timezone
from django_htmx.http import HttpResponseClientRedirect
from whitenoise.middleware import WhiteNoiseMiddleware

from config.errors.problems import problem_response
from config.logging.request_metrics import count_request
from config.logging.secret_places import without_credential
from kit.api.conditional_requests import matches
from kit.text.masking import mask_card_numbers
from merchants.api.api_requests import ApiRequest
from merchants.api.authentication import request_target
from merchants.api.request_log import Call, request_log
from merchants.models import ApiKey
from merchants.people.request_actors import client_address

Handler = Callable[[HttpRequest], HttpResponseBase]

SANE_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}\Z")
# UUIDs (RFC 9562), with the digits of their version and variant, which can't be card numbers even if digits of them pass
# the Luhn check.
UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[1-8][0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}\Z")

# These take a whole payout batch, by the API or by a form, or a file of an acquirer about disputes.
BATCHES = (
    "/api/payout-batches",
    "/dashboard/payouts/batches/new/",
    "/admin/disputes/disputereport/upload/",
    "/admin/cash/statement/upload/",
)
MACHINES = ("/api/", "/bank/", "/connectors/")  # called by programs: no session, cookies or forms
LINKED = ("/3ds/", "/pay/", "/l/", "/checkout/", "/statement/")  # pages without sign-in, of payers and guests

log = structlog.get_logger("sluice.requests")


class RequestContext:
    """Give each request an id (the caller's, if it is valid) and log the response."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: ApiRequest) -> HttpResponseBase:
        request.id = _request_id(request)
        structlog.contextvars.bind_contextvars(request_id=request.id)
        started = time.perf_counter()
        try:
            response = self.get_response(request)
            seconds = time.perf_counter() - started
            count_request(request, response, seconds=seconds)
            if settings.LOG_REQUESTS and _is_logged(request, response):
                _log_request(request, response, seconds=seconds)
            api_key = getattr(request, "api_key", None)
            if api_key is not None:
                _note_call(request, response, api_key, seconds=seconds)
        finally:
            structlog.contextvars.clear_contextvars()
        response.headers["X-Request-Id"] = request.id
        if isinstance(response, HttpResponse):  # avoids a chunked response
            response.headers.setdefault("Content-Length", str(len(response.content)))
        for name, value in getattr(request, "rate_limit", {}).items():
            response.headers[name] = value
        return response


def _is_logged(request: ApiRequest, response: HttpResponseBase) -> bool:
    """Return whether a request is logged: every refused one, and those that their view doesn't leave out."""
    is_success = response.status_code < HTTPStatus.BAD_REQUEST
    return not is_success or not getattr(request, "is_left_out_of_log", False)


def _log_request(request: HttpRequest, response: HttpResponseBase, *, seconds: float) -> None:
    log.info(
        "request",
        method=request.method,
        path=without_credential(request.path),
        status=response.status_code,
        ms=round(seconds * 1000, 1),
    )


def _note_call(request: ApiRequest, response: HttpResponseBase, api_key: ApiKey, *, seconds: float) -> None:
    """Add the request and response to the request log of the key's business."""
    is_success = response.status_code < HTTPStatus.BAD_REQUEST
    problem = None if is_success else getattr(response, "data", None)
    request_log.note(
        Call(
            key=api_key,
            is_authentic=getattr(request, "is_authentic", False),
            request_id=request.id,
            method=request.method or "",
            target=request.get_full_path(),
            status=response.status_code,
            code=str(problem.get("code", "")) if isinstance(problem, dict) else "",
            seconds=seconds,
            address=client_address(request),
            at=timezone.now(),
            named=getattr(request, "named_object", None),
            is_logged=_is_logged(request, response)
            and (settings.REQUEST_LOG_READS or not (is_success and request.method in {"GET", "HEAD"})),
        )
    )


def _request_id(request: HttpRequest) -> str:
    """Return the caller's id if it is valid and contains no card number, otherwise a new one."""
    given = request.META.get("HTTP_X_REQUEST_ID", "")
    is_sane = SANE_REQUEST_ID.match(given) and (UUID.match(given) or mask_card_numbers(given) == given)
    return given if is_sane else uuid.uuid4().hex


class SecurityHeaders:
    """Set headers that forbid foreign resources, inline scripts, framing and MIME sniffing."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        headers = response.headers
        headers["X-Content-Type-Options"] = "nosniff"
        if settings.HSTS_SECONDS and request.is_secure():
            headers["Strict-Transport-Security"] = f"max-age={settings.HSTS_SECONDS}; includeSubDomains"
        if request.path.startswith(MACHINES) and headers.get("Content-Type", "").startswith("application/"):
            headers.setdefault("Cache-Control", "no-store")
            return response
        headers["Content-Security-Policy"] = (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
            "connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
        )
        headers["X-Frame-Options"] = "DENY"
        # Other pages than payers' need their origin for CSRF protection: with no-referrer, browsers send
        # `Origin: null`, as a forged form would.
        headers["Referrer-Policy"] = "same-origin"
        headers["Cross-Origin-Opener-Policy"] = "same-origin"
        if request.path.startswith(LINKED):
            _keep_private(headers)
        return response


def _keep_private(headers: ResponseHeaders) -> None:
    """Set the headers of every response to a payer or a guest, errors included. The URL is a credential."""
    headers["Referrer-Policy"] = "no-referrer"
    headers["Permissions-Policy"] = "camera=(), microphone=(), geolocation=(), payment=()"
    headers["X-Robots-Tag"] = "noindex, nofollow"
    headers.setdefault("Cache-Control", "no-store")


# Load balancers and supervisors probe a process by its IP address, not by a host name.
PROBES = ("/livez", "/readyz")


class KnownHost:
    """Reject every request with a Host header that is not in ALLOWED_HOSTS."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path not in PROBES:
            try:
                request.get_host()
            except DisallowedHost:
                if request.path.startswith(MACHINES):
                    return problem_response(request, "invalid_request", detail=UNKNOWN_HOST)
                raise
        return self.get_response(request)


UNKNOWN_HOST = "The Host header does not name this service."


TAKES_FILES = re.compile(r"/api/disputes/[0-9a-f-]{36}/files")
FORM_WITH_FILE = re.compile(r"/dashboard/disputes/[0-9a-f-]{36}/")
FORM_WITH_LOGO = "/dashboard/settings/"


def largest_body(path: str) -> int:
    """Return how many bytes a body may have at an address."""
    if TAKES_FILES.fullmatch(path):
        return int(settings.MAX_FILE_BYTES)
    if FORM_WITH_FILE.fullmatch(path):
        return int(settings.MAX_FILE_BYTES + settings.MAX_BODY_BYTES)
    if path == FORM_WITH_LOGO:
        return int(settings.MAX_LOGO_BYTES + settings.MAX_BODY_BYTES)
    return settings.MAX_BATCH_BYTES if path in BATCHES else settings.MAX_BODY_BYTES


class CompleteBody:
    """Reject a request whose body is shorter than its Content-Length. Incomplete requests are never processed."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        length = request.META.get("CONTENT_LENGTH") or ""
        # A longer body is refused, and so is a length that isn't a number when it is read.
        if length.isdecimal() and int(length) > largest_body(request.path):
            raise RequestDataTooBig
        if length.isdecimal() and int(length) > 0 and not _is_whole(request):
            if request.path.startswith(MACHINES):
                return problem_response(request, "invalid_request", detail=SHORT_BODY)
            raise BadRequest(SHORT_BODY)
        return self.get_response(request)


SHORT_BODY = "The body is shorter than its Content-Length."


def _is_whole(request: HttpRequest) -> bool:
    """Read the body, which Django caches, and return whether it is complete."""
    try:
        return len(request.body) == int(request.META["CONTENT_LENGTH"])
    except UnreadablePostError:  # the connection broke
        return False


class ApiRequestChecks:
    """Reject a long target, and a body that is too large, encoded, or of unknown length before it is read.

    A path with U+0000 is not found.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if "\x00" in request.path:  # PostgreSQL refuses such text in queries
            if not request.path.startswith("/api/"):
                raise Http404
            request.path_info = "/api/"  # names no resource: the caller is authenticated, then answered 404
        if request.path.startswith(MACHINES):
            refusal = self._refusal(request)
            if refusal is not None:
                return refusal
        return self.get_response(request)

    def _refusal(self, request: HttpRequest) -> HttpResponse | None:
        length = request.META.get("CONTENT_LENGTH") or ""
        if len(request_target(request)) > LONGEST_TARGET:
            return problem_response(request, "uri_too_long")
        if request.META.get("HTTP_TRANSFER_ENCODING") and not length:
            return problem_response(request, "length_required")
        if not _is_plain(request.META.get("HTTP_CONTENT_ENCODING", "")):
            refusal = problem_response(request, "unsupported_media_type", detail=ENCODED_BODY)
            refusal.headers["Accept-Encoding"] = "identity"  # RFC 9110, 15.5.16
            return refusal
        if length.isdecimal() and int(length) > largest_body(request.path):
            return problem_response(request, "body_too_large")
        return None


LONGEST_TARGET = 8190 - len("OPTIONS  HTTP/1.1")  # characters: gunicorn and nginx limit the line
ENCODED_BODY = "Send the body as it is: no Content-Encoding but identity is accepted."


def _is_plain(encodings: str) -> bool:
    """Return whether a Content-Encoding header allows only an unencoded body, which is what was signed."""
    return all(encoding.strip().lower() in {"", "identity"} for encoding in encodings.split(","))


class PagesOnly:
    """Mixin that skips a Django middleware for the API, whose signed calls have no session, cookies or forms."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(MACHINES):
            return self.get_response(request)  # type: ignore[attr-defined,no-any-return]
        return super().__call__(request)  # type: ignore[misc,no-any-return]


COMPRESSIBLE = ("text/", "image/svg+xml", "application/javascript")


class Compression(PagesOnly, GZipMiddleware):
    """Compress pages, style sheets and scripts.

    Django pads them randomly, so that sizes don't disclose secrets.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Leave what is compressed already, and ranges, which count the bytes of the file."""
        is_whole = response.status_code != HTTPStatus.PARTIAL_CONTENT
        if is_whole and response.headers.get("Content-Type", "").startswith(COMPRESSIBLE):
            return super().process_response(request, response)
        return response


class StaticFiles(PagesOnly, WhiteNoiseMiddleware):
    """Serve static files."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponseBase:
        """Return 304 for every form of If-None-Match with the file's entity tag. WhiteNoise supports only one."""
        etag = getattr(static_file, "etag", None)  # a redirect has none
        if etag and matches(etag, request.META.get("HTTP_IF_NONE_MATCH", "")):
            request.META["HTTP_IF_NONE_MATCH"] = etag
        response: HttpResponseBase = WhiteNoiseMiddleware.serve(static_file, request)
        return response


class Sessions(PagesOnly, SessionMiddleware):
    """Sessions of signed-in users."""


class FormProtection(PagesOnly, CsrfViewMiddleware):
    """Reject forms submitted by other sites."""


class SignIn(PagesOnly, AuthenticationMiddleware):
    """Set `request.user` to the signed-in user."""


class Messages(PagesOnly, MessageMiddleware):
    """Show a message on the next page."""


class HtmxRedirects:
    """Make htmx follow redirects with a full page load, instead of swapping the target into the current page.

    Redirects to sign-in and reauthentication need their own page.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # Read this first, because allauth replaces a reauthentication request with the original one.
        # `request.headers` would parse all headers of every call.
        is_part = request.META.get("HTTP_HX_REQUEST") == "true"
        response = self.get_response(request)
        if is_part and isinstance(response, HttpResponseRedirectBase):
            answer = HttpResponseClientRedirect(response.url, headers={"Cache-Control": "no-store"})
            answer.cookies = response.cookies
            return answer
        return response
