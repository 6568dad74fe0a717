"""Calls to Checkout.com: keys, idempotency, repeats, and what an answer proves.

Only three things are definite: a readable 2xx, a refusal before processing (400, 401, 403, 422), and a rate limit (429), which
has no effect. Everything else is unknown: a time-out, a cut connection, an unreadable answer, any 5xx, and 409 or
`duplicate_request`, which mean that another request with the same key is running.

Calls stay under the account's rate limit, and none is made for new payments while Checkout.com is down (decision 0091).
"""

import json
import re
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, NoReturn, TypeAlias
from uuid import UUID

import structlog

from connectors.checkout.api.references import reference_of
from kit.connectors.http_client import HttpAnswer, HttpRequest, NoAnswer
from kit.connectors.provider_client import OUR_FAULT, Deadline, ProviderClient
from kit.connectors.token_bucket import LONGEST_WAIT, NoToken, TokenBucket, reset_told
from kit.files import bounded_json
from kit.text.display_names import identifier_text
from payments.rails.protocol import AnswerLost, RateLimited

log = structlog.get_logger("sluice.checkout")

Document: TypeAlias = dict[str, Any]

# Checkout.com allows 100 reads and 100 writes a second. A smaller burst allows for what other programs send.
CALLS_PER_SECOND, BURST = 100, 50
LARGEST_FILE, DOWNLOAD_TIMEOUT = 100 * 1024 * 1024, 120.0  # bytes and seconds of a report
RESET = 0.5  # seconds without a call after a 429 that doesn't say how many
LONGEST_RESET = 60.0  # seconds: a longer time isn't believed

INVALID = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})
HARMLESS = f"/payments?reference={reference_of(UUID(int=0))}&limit=1"
IN_FLIGHT = "duplicate_request"  # of 429: another request with this key is running

# Words, not numbers: an error code that is a card number would be an echo of the request.
_ERROR_CODE = re.compile(r"(?:[a-z_]|\d(?!\d\d)){1,80}")


class Refused(Exception):
    """A request was refused before it was processed. Nothing happened."""

    def __init__(self, status: int, error_codes: tuple[str, ...] = ()) -> None:
        super().__init__(status, *error_codes)
        self.status, self.error_codes = status, error_codes


class NotAnswered(AnswerLost):
    """There was no answer at all, such as after a time-out or a cut connection."""


class NotFound(Exception):
    """There is no such payment, or it can't be seen yet."""


@dataclass(frozen=True, slots=True)
class _Body:
    """The body of a request. The repr hides it, because it may have a card."""

    content: bytes = field(default=b"", repr=False)
    type: str = "application/json"


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    request_id: str
    content: Any  # the parsed body, or None if there is no readable one
    retry_after: str = ""
    location: str = ""

    @classmethod
    def of(cls, answer: HttpAnswer) -> "_Answer":
        request_id = identifier_text(answer.headers.get("Cko-Request-Id"), length=64)
        retry_after, location = (answer.headers.get(name) or "" for name in ("Retry-After", "Location"))
        return cls(answer.status, request_id, _parsed(answer.body), retry_after, location)

    @property
    def is_success(self) -> bool:
        return self.status in range(200, 300)

    @property
    def error_codes(self) -> tuple[str, ...]:
        given = self.content.get("error_codes") if isinstance(self.content, dict) else None
        words = given if isinstance(given, list) else []
        return tuple(each for each in words if isinstance(each, str) and _ERROR_CODE.fullmatch(each))

    @property
    def is_refusal(self) -> bool:
        """Return whether the request was refused before it was processed."""
        return self.status in OUR_FAULT or (self.status in INVALID and isinstance(self.content, dict))

    @property
    def had_no_effect(self) -> bool:
        """Return whether the rate limit refused the request."""
        return self.status == HTTPStatus.TOO_MANY_REQUESTS and IN_FLIGHT not in self.error_codes

    @property
    def reset(self) -> float:
        """Return the seconds for which the rate limit allows no calls. Their document doesn't say in which header."""
        return reset_told(self.retry_after, default=RESET, longest=LONGEST_RESET)


class CheckoutClient(ProviderClient):
    """Calls one account, with the time for a whole order or query in seconds."""

    def __init__(self, account: str, *, url: str, secret_key: str, timeout: float, ca_file: str) -> None:
        self._url = url
        headers = {"Authorization": f"Bearer {secret_key}", "Accept": "application/json"}
        harmless = HttpRequest("GET", url + HARMLESS, headers)
        super().__init__("checkout", harmless=harmless, timeout=timeout, ca_file=ca_file)
        self.reads, self.writes = (
            TokenBucket(f"{account}:{kind}", per_second=CALLS_PER_SECOND, burst=BURST)
            for kind in ("reads", "writes")
        )

    def is_available(self) -> bool:
        """Return whether a new payment can be sent now. Makes no call."""
        return self.breaker.allows_calls() and self._http.has_room() and self.writes.wait() <= LONGEST_WAIT

    def get(self, path: str, *, deadline: Deadline) -> Any:
        """Return what is at a path, which begins with a slash.

        :raises NotFound: nothing
        :raises RateLimited: the rate limit leaves no call
        :raises AnswerLost: there is no answer, or none that can be read
        """
        answer = self._read(path, deadline=deadline)
        if answer.status != HTTPStatus.OK or answer.content is None:
            self._lose("GET", path, answer)
        return answer.content

    def download(self, path: str, *, deadline: Deadline) -> str:
        """Return the text of a file. A redirect has its address, and is called without our key.

        :raises NotFound: there is no such file
        :raises RateLimited: the rate limit leaves no call
        :raises AnswerLost: there is no answer, or none that can be read
        """
        answer = self._read(path, deadline=deadline)
        is_address = answer.location.startswith(("https://", f"{self._url}/"))
        if answer.status != HTTPStatus.FOUND or not is_address:
            self._lose("GET", path, answer, reason="no address of the file")
        request = HttpRequest("GET", answer.location, largest_answer=LARGEST_FILE)
        try:
            file = self._http.call(request, timeout=DOWNLOAD_TIMEOUT)
        except NoAnswer as reason:
            self._lose("GET", path, reason=str(reason))
        if file.status != HTTPStatus.OK:
            self._lose("GET", path, reason="file not found")
        return file.body.decode("utf-8-sig", "replace")

    def _read(self, path: str, *, deadline: Deadline) -> _Answer:
        """Return what a query is answered, whatever it says of what is there. Raises as `get` does."""
        try:
            answer = self._send("GET", path, _Body(), key="", deadline=deadline)
        except NoAnswer as reason:
            self._lose("GET", path, reason=str(reason))
        if answer.had_no_effect:
            raise RateLimited
        if answer.status in OUR_FAULT:
            self.breaker.open(f"status {answer.status}")
        if answer.status == HTTPStatus.NOT_FOUND:
            raise NotFound
        return answer

    def post(
        self, path: str, document: Document, *, key: str, deadline: Deadline, reserve: float = 0.0
    ) -> Document:
        """Send an order and return its answer, whatever it says. `key` is its idempotency key.

        `reserve` seconds of the deadline are left for a repeat, unless less would be left for this attempt.

        :raises Refused: nothing happened
        :raises RateLimited: the rate limit leaves no call for a query
        :raises NotAnswered: there is no answer at all, so that the order may be repeated with its key
        :raises AnswerLost: it may or may not have been carried out
        """
        body = _Body(json.dumps(document).encode())
        answer = self._ordered("POST", path, body, key=key, deadline=deadline, reserve=reserve)
        if not isinstance(answer.content, dict):
            self._lose("POST", path, answer)
        return answer.content

    def order(self, method: str, path: str, document: Document | None = None, *, deadline: Deadline) -> None:
        """Send an order that has no key and whose answer is empty. Raises as `post` does."""
        body = _Body(b"" if document is None else json.dumps(document).encode())
        self._ordered(method, path, body, key="", deadline=deadline)

    def upload(self, path: str, form: bytes, *, content_type: str, deadline: Deadline) -> Any:
        """Send a form with a file, and return the answer. Raises as `post` does."""
        return self._ordered("POST", path, _Body(form, content_type), key="", deadline=deadline).content

    def _ordered(
        self, method: str, path: str, body: _Body, *, key: str, deadline: Deadline, reserve: float = 0.0
    ) -> _Answer:
        """Send an order, and return its answer if it was carried out. Raises as `post` does."""
        try:
            answer = self._send(method, path, body, key=key, deadline=deadline, reserve=reserve)
        except NoAnswer as reason:
            self._log("not answered", method, path, None, reason=str(reason))
            raise NotAnswered from None
        if answer.is_refusal or answer.had_no_effect:
            self._log("order refused", method, path, answer)
            raise Refused(answer.status, answer.error_codes)
        if not answer.is_success:
            self._lose(method, path, answer)
        return answer

    def _send(
        self, method: str, path: str, body: _Body, *, key: str, deadline: Deadline, reserve: float = 0.0
    ) -> _Answer:
        """Send a request as soon as the rate limit allows it, and again if it is refused for the limit.

        An order that would wait too long is sent without a token: Checkout.com decides. A query isn't.

        :raises NoAnswer: no answer arrived in time
        :raises RateLimited: a query would wait too long
        """
        bucket, patience = self.reads if method == "GET" else self.writes, LONGEST_WAIT
        answer = None
        while True:
            patience = min(patience, deadline.left)
            try:
                patience -= bucket.take(patience=patience, leaves_reserve=deadline.of_query)
            except NoToken:
                if answer is not None:
                    return answer
                if deadline.of_query:
                    raise RateLimited from None
                bucket.clock.sleep(patience)
                patience = 0.0
            timeout = deadline.left - reserve
            if timeout < reserve:
                timeout = deadline.left
            if not timeout:  # such as in a process that was suspended
                raise NoAnswer("no time left")
            answer = _Answer.of(self._counted(self._request(method, path, body, key=key), timeout=timeout))
            if not answer.had_no_effect:
                return answer
            bucket.empty(reset=answer.reset)

    def _request(self, method: str, path: str, body: _Body, *, key: str = "") -> HttpRequest:
        headers = {**self._harmless.headers}  # whose repr hides the key
        if body.content:
            headers["Content-Type"] = body.type
        if key:
            headers["Cko-Idempotency-Key"] = key
        return HttpRequest(method, self._url + path, headers, body.content)

    def _lose(self, method: str, path: str, answer: _Answer | None = None, *, reason: str = "") -> NoReturn:
        self._log("no definite answer", method, path, answer, reason=reason)
        raise AnswerLost

    def _log(self, event: str, method: str, path: str, answer: _Answer | None, **more: str) -> None:
        """Log a call without its body and query: what Checkout.com's support asks for."""
        if answer is not None:
            more |= {"request_id": answer.request_id, "error_codes": " ".join(answer.error_codes)}
            more |= {"status": str(answer.status)}
        told = {name: value for name, value in more.items() if value}
        log.warning(event, call=f"{method} {path.partition('?')[0]}", **told)


def _parsed(body: bytes) -> Any:
    """Return the JSON in a body, or None if it is empty or unreadable."""
    try:
        return bounded_json.loads(body.decode())
    except (ValueError, RecursionError):
        return None
