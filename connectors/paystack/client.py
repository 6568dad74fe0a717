"""Calls of Paystack's API: the key, the deadline, rate limits, and which answers say that nothing happened."""

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from connectors.paystack import codes
from kit.connectors.http_client import HttpAnswer, HttpClient, HttpRequest, NoAnswer
from kit.files import bounded_json
from kit.text.display_names import printable_line
from payments.rails.protocol import AnswerLost, RailBlocked

log = structlog.get_logger("sluice.paystack")

LONGEST_WAIT = 2.0  # seconds that a call waits for its rate limit to end
DEFAULT_WAIT = 5.0  # seconds without a call after a 429 that doesn't say how many
MOST_WAIT = 300.0  # seconds: a longer reset is not believed
LONGEST_MESSAGE = 160  # characters


class Refused(Exception):
    """An error of Paystack in its own form. Nothing happened, except if the code means a duplicate reference."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(code or message)
        self.status = status
        self.code = code
        self.message = message


class Limited(AnswerLost):
    """Calls of this endpoint are limited for some time. Nothing was done."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The `data` and `meta` of a successful answer."""

    data: Any
    meta: Any


class Deadline:
    """The moment until which all calls of one operation have to be answered."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    def left(self) -> float:
        return max(self._at - time.monotonic(), 0)


class PaystackClient:
    """Calls of one integration. Thread-safe."""

    def __init__(self, *, key: str, url: str, ca_file: str = "") -> None:
        self.domain = "live" if key.startswith("sk_live_") else "test"
        self._url = url
        self._headers = {"Authorization": f"Bearer {key}"}
        self._http = HttpClient(ca_file=ca_file)
        self._limits = _Limits()

    @classmethod
    def from_settings(cls) -> "PaystackClient":
        """Return the client of the configured integration.

        :raises ImproperlyConfigured: a setting is missing
        """
        required = ("PAYSTACK_SECRET_KEY", "PAYSTACK_INTEGRATION")
        if missing := [name for name in required if not getattr(settings, name)]:
            raise ImproperlyConfigured(f"Paystack needs {' and '.join(missing)}.")
        return cls(
            key=settings.PAYSTACK_SECRET_KEY, url=settings.PAYSTACK_URL, ca_file=settings.PAYSTACK_CA_FILE
        )

    def has_room(self, *endpoints: str) -> bool:
        """Return whether another call of each endpoint, such as `POST /transfer`, can be made now."""
        return self._http.has_room() and all(self._limits.wait(each) <= LONGEST_WAIT for each in endpoints)

    def get(
        self, path: str, *, until: Deadline, query: Mapping[str, str] | None = None, endpoint: str = ""
    ) -> Answer:
        """Read something. `endpoint` is the path without its variable part, because each has a rate limit of its own.

        :raises Refused: Paystack refuses the call
        :raises RailBlocked: it refuses the key or the address of this server
        :raises AnswerLost: no readable answer arrived in time, or the rate limit lasts longer than the wait for it
        """
        # Parameters are texts: account numbers and bank codes have leading zeros.
        target = f"{path}?{urlencode(query)}" if query else path
        return self._call(
            f"GET {endpoint or path}", HttpRequest("GET", self._url + target, self._headers), until
        )

    def post(self, path: str, document: Mapping[str, Any], *, until: Deadline) -> Answer:
        """Send something. Raises as `get` does."""
        headers = self._headers | {"Content-Type": "application/json"}
        request = HttpRequest("POST", self._url + path, headers, json.dumps(document).encode())
        return self._call(f"POST {path}", request, until)

    def _call(self, endpoint: str, request: HttpRequest, until: Deadline) -> Answer:
        """Make a call, and repeat it once after a short rate limit, because a 429 had no effect."""
        self._limits.await_end(endpoint, until)
        answer = self._exchange(endpoint, request, until)
        if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
            self._limits.begin(endpoint, answer.headers)
            self._limits.await_end(endpoint, until)
            answer = self._exchange(endpoint, request, until)
        return _read(answer)

    def _exchange(self, endpoint: str, request: HttpRequest, until: Deadline) -> HttpAnswer:
        if not (left := until.left()):
            raise AnswerLost
        try:
            return self._http.call(request, timeout=left)
        except NoAnswer as reason:
            log.warning("no answer from Paystack", reason=str(reason), endpoint=endpoint)
            raise AnswerLost from None


class _Limits:
    """The end of each endpoint's rate limit, as this process knows it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: dict[str, float] = {}

    def begin(self, endpoint: str, headers: Mapping[str, str]) -> None:
        text = headers.get("x-ratelimit-reset", "")
        seconds = float(text) if text.isascii() and text.isdecimal() and len(text) < 10 else DEFAULT_WAIT  # noqa: PLR2004
        with self._lock:
            self._ends[endpoint] = time.monotonic() + min(seconds, MOST_WAIT)
        log.warning("rate limit of Paystack", endpoint=endpoint, seconds=seconds)

    def wait(self, endpoint: str) -> float:
        """Return the seconds until calls of an endpoint are allowed again."""
        with self._lock:
            return max(self._ends.get(endpoint, 0.0) - time.monotonic(), 0)

    def await_end(self, endpoint: str, until: Deadline) -> None:
        """Wait for the end of a short limit.

        :raises Limited: it lasts longer
        """
        seconds = self.wait(endpoint)
        if seconds > min(LONGEST_WAIT, until.left()):
            raise Limited
        time.sleep(seconds)


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
            raise Limited
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
