"""Calls of Paystack's API: the key, the deadline, rate limits, and which answers say that nothing happened.

Calls stay under the limit of each endpoint, and none is made for new payouts while Paystack is down (decision 0091).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from connectors.paystack.api import codes
from kit.connectors.http_client import HttpAnswer, HttpRequest, NoAnswer
from kit.connectors.provider_client import Deadline, ProviderClient
from kit.connectors.token_bucket import LONGEST_WAIT, NoToken, TokenBucket, reset_told
from kit.files import bounded_json
from kit.text.display_names import printable_line
from payments.rails.protocol import AnswerLost, RailBlocked, RateLimited

log = structlog.get_logger("sluice.paystack")

# Calls of one endpoint that Paystack allows in each minute. A bucket lets a sixth through at once.
CALLS_PER_MINUTE = {"live": 600, "test": 100}
BURST = 1 / 6
RESET = 5.0  # seconds without a call after a 429 that doesn't say how many
LONGEST_RESET = 300.0  # seconds: a longer time isn't believed
HARMLESS = "/balance"
LONGEST_MESSAGE = 160  # characters


# Other errors than these don't say that nothing happened: 200, for example, accompanies a charge that exists.
DEFINITE = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})


class Refused(Exception):
    """An error of Paystack in its own form."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(code or message)
        self.status = status
        self.code = code
        self.message = message

    @property
    def is_definite(self) -> bool:
        """Return whether nothing happened, except if the code means a duplicate reference."""
        return self.status in DEFINITE


@dataclass(frozen=True, slots=True)
class Answer:
    """The `data` and `meta` of a successful answer."""

    data: Any
    meta: Any


class PaystackClient(ProviderClient):
    """Calls of the configured integration."""

    def __init__(self) -> None:
        """Read the settings.

        :raises ImproperlyConfigured: one is missing
        """
        required = ("PAYSTACK_SECRET_KEY", "PAYSTACK_INTEGRATION")
        if missing := [name for name in required if not getattr(settings, name)]:
            raise ImproperlyConfigured(f"Paystack needs {' and '.join(missing)}.")
        key, self._url = settings.PAYSTACK_SECRET_KEY, settings.PAYSTACK_URL
        self.domain = "live" if key.startswith("sk_live_") else "test"
        self._headers = {"Authorization": f"Bearer {key}"}
        super().__init__(
            "paystack",
            harmless=HttpRequest("GET", self._url + HARMLESS, self._headers),
            timeout=settings.PAYSTACK_TIMEOUT,
            ca_file=settings.PAYSTACK_CA_FILE,
        )
        self._account = f"paystack:{settings.PAYSTACK_INTEGRATION}"
        self._buckets: dict[str, TokenBucket] = {}  # by endpoint

    def has_room(self, *endpoints: str) -> bool:
        """Return whether another call of each endpoint, such as `POST /transfer`, can be made now. Makes no call."""
        return (
            self.breaker.allows_calls()
            and self._http.has_room()
            and all(self._bucket(each).wait() <= LONGEST_WAIT for each in endpoints)
        )

    def get(
        self, path: str, *, until: Deadline, query: Mapping[str, str] | None = None, endpoint: str = ""
    ) -> Answer:
        """Read something. `endpoint` is the path without its variable part, because each has a rate limit of its own.

        :raises Refused: Paystack refuses the call
        :raises RailBlocked: it refuses the key or the address of this server
        :raises RateLimited: the rate limit leaves no call
        :raises AnswerLost: no readable answer arrived in time
        """
        # Parameters are texts: account numbers and bank codes have leading zeros.
        target = f"{path}?{urlencode(query)}" if query else path
        return self._call(
            f"GET {endpoint or path}", HttpRequest("GET", self._url + target, self._headers), until
        )

    def post(self, path: str, document: Mapping[str, Any], *, until: Deadline, endpoint: str = "") -> Answer:
        """Send something. Raises as `get` does."""
        headers = self._headers | {"Content-Type": "application/json"}
        request = HttpRequest("POST", self._url + path, headers, json.dumps(document).encode())
        return self._call(f"POST {endpoint or path}", request, until)

    def put(self, path: str, document: Mapping[str, Any], *, until: Deadline, endpoint: str) -> Answer:
        """Change something. Raises as `get` does."""
        headers = self._headers | {"Content-Type": "application/json"}
        request = HttpRequest("PUT", self._url + path, headers, json.dumps(document).encode())
        return self._call(f"PUT {endpoint}", request, until)

    def upload(self, url: str, content: bytes, *, content_type: str, until: Deadline) -> None:
        """Upload a file to an address that Paystack gave, without our key.

        :raises AnswerLost: it isn't a safe address, or the upload failed
        """
        is_safe = url.startswith(("https://", f"{self._url}/"))
        request = HttpRequest("PUT", url, {"Content-Type": content_type}, content)
        try:
            answer = self._http.call(request, timeout=until.left) if is_safe else None
        except NoAnswer:
            answer = None
        if answer is None or answer.status != HTTPStatus.OK:
            log.warning("file not uploaded for Paystack", status=answer and answer.status)
            raise AnswerLost

    def own(self, found: Any) -> dict[str, Any]:
        """Return an object of the configured integration and of the key's environment, where it names them.

        :raises RailBlocked: it belongs to another one
        :raises AnswerLost: it is no object
        """
        if not isinstance(found, dict):
            raise AnswerLost
        if str(found.get("integration", settings.PAYSTACK_INTEGRATION)) != settings.PAYSTACK_INTEGRATION:
            raise RailBlocked(codes.OTHER_INTEGRATION)
        if found.get("domain", self.domain) != self.domain:
            raise RailBlocked(codes.OTHER_DOMAIN)
        return found

    def _call(self, endpoint: str, request: HttpRequest, until: Deadline) -> Answer:
        """Make a call as soon as the rate limit allows it, and once again after a short one: a 429 had no effect.

        An order that would wait too long is sent without a token: Paystack decides. A query isn't.
        """
        bucket = self._bucket(endpoint)
        patience, is_query = min(LONGEST_WAIT, until.left), request.method == "GET"
        try:
            patience -= bucket.take(patience=patience, leaves_reserve=is_query)
        except NoToken:
            if is_query:
                raise RateLimited from None
        answer = self._call_now(endpoint, request, until)
        if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
            told = answer.headers.get("x-ratelimit-reset", "")
            bucket.empty(reset=reset_told(told, default=RESET, longest=LONGEST_RESET))
            try:
                bucket.take(patience=min(patience, until.left))
            except NoToken:
                raise RateLimited from None
            answer = self._call_now(endpoint, request, until)
        return _read(answer)

    def _bucket(self, endpoint: str) -> TokenBucket:
        if endpoint not in self._buckets:
            limit = CALLS_PER_MINUTE[self.domain]
            new = TokenBucket(
                f"{self._account}:{endpoint}", per_second=limit * (1 - BURST) / 60, burst=int(limit * BURST)
            )
            self._buckets.setdefault(endpoint, new)
        return self._buckets[endpoint]

    def _call_now(self, endpoint: str, request: HttpRequest, until: Deadline) -> HttpAnswer:
        if not (left := until.left):
            raise AnswerLost
        try:
            return self._counted(request, timeout=left)
        except NoAnswer as reason:
            log.warning("no answer from Paystack", reason=str(reason), endpoint=endpoint)
            raise AnswerLost from None


class PaystackConnector:
    """What the connectors of all rails have in common: the integration, and a client with a circuit breaker of its own."""

    name = "paystack"

    def __init__(self) -> None:
        self._client = PaystackClient()

    @cached_property
    def account(self) -> str:
        """The integration. Another key of it is the same account."""
        return f"{self.name}:{settings.PAYSTACK_INTEGRATION}"


def _read(answer: HttpAnswer) -> Answer:
    """Read an answer by the table of section "Errors" in docs/connectors/paystack.md."""
    document = _document(answer)
    message, code = (
        printable_line(str(document["message"]))[:LONGEST_MESSAGE],
        str(document.get("code") or ""),
    )
    match answer.status:
        case HTTPStatus.OK | HTTPStatus.CREATED if document["status"]:
            return Answer(document.get("data"), document.get("meta"))
        case HTTPStatus.UNAUTHORIZED:
            raise RailBlocked(codes.KEY_REFUSED)
        case HTTPStatus.FORBIDDEN:
            raise RailBlocked(f"{codes.FORBIDDEN} Paystack says: {message}")
        case HTTPStatus.TOO_MANY_REQUESTS:
            raise RateLimited
        case status if status < HTTPStatus.INTERNAL_SERVER_ERROR and not document["status"]:
            raise Refused(status, code.lower(), message)
    raise AnswerLost


def _document(answer: HttpAnswer) -> dict[str, Any]:
    """Return the body of an answer in Paystack's form. A proxy between may have sent another one.

    :raises AnswerLost: it has another form
    """
    try:
        document = bounded_json.loads(answer.body.decode())
    except ValueError:
        document = None
    if isinstance(document, dict) and isinstance(document.get("status"), bool) and document.get("message"):
        return document
    log.warning("unreadable answer from Paystack", status=answer.status)
    raise AnswerLost
