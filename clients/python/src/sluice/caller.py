"""Signed calls: retries, timeouts, the clock's difference, and errors of answers."""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from sluice import signing
from sluice.errors import ApiError, NotSent, OutcomeUnknown, TransportError, error_of
from sluice.transport import Request, Response, Transport

log = logging.getLogger("sluice")

RETRIED = {429, 500, 502, 503, 504}
FIRST_WAIT = 0.5  # seconds; doubled each time
LONGEST_RETRY_AFTER = 30  # seconds
ALL_RETRIES = 60  # seconds
CLOCK_KEPT = 600  # seconds
LARGEST_DIFFERENCE = 24 * 3600  # seconds
SUCCESS = range(200, 300)
NOT_MODIFIED = 304


@dataclass(frozen=True)
class Meta:
    """What an answer says beside its body."""

    status: int
    request_id: str
    replayed: bool
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Answer:
    """The body of a successful answer, and its meta. The body of a 304 is None."""

    document: Any
    meta: Meta


class Caller:
    """Makes signed calls. May be used by several threads. Neither its text nor its errors show a secret."""

    def __init__(
        self,
        *,
        api_key: str,
        secret_key: str,
        transport: Transport,
        retries: int,
        correct_clock: bool,
        user_agent: str,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._api_key, self._secret_key = api_key, secret_key
        self.transport, self._retries = transport, retries
        self._correct_clock, self._user_agent = correct_clock, user_agent
        self._now, self._sleep = now, sleep
        self._clock = (0.0, 0.0)  # the difference to the service's clock, and until when it is used

    def __reduce__(self) -> Any:
        raise TypeError("A client holds a secret key and can't be pickled.")

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        is_repeatable: bool | None = None,
    ) -> Answer:
        """Make a call and return its answer.

        GETs are repeated after a failure, and so is a request whose body has a reference; `is_repeatable` decides
        otherwise. Each time the same bytes are sent, with a new signature.

        :raises ApiError: the service refused it
        :raises NotSent: no byte left
        :raises OutcomeUnknown: the request may have arrived
        """
        target = f"{path}?{urlencode(_present(query), doseq=True)}" if _present(query) else path
        raw = b"" if body is None else json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        reference = str((body or {}).get("reference", ""))
        if is_repeatable is None:
            is_repeatable = method == "GET" or bool(reference)
        return self._repeated(
            lambda: self._attempt(method, target, raw, dict(headers or {}), reference),
            retries=self._retries if is_repeatable else 0,
        )

    def _repeated(self, attempt: Callable[[], Answer], *, retries: int) -> Answer:
        deadline = self._now() + ALL_RETRIES
        number = 0
        while True:
            try:
                return attempt()
            except (TransportError, ApiError) as problem:
                wait = _wait(problem, number)
                if number == retries or wait is None or self._now() + wait > deadline:
                    raise
            self._sleep(wait)
            number += 1

    def _attempt(
        self, method: str, target: str, body: bytes, headers: dict[str, str], reference: str
    ) -> Answer:
        try:
            return self._send(method, target, body, headers, reference)
        except ApiError as refused:
            if not self._learn_the_time(refused):
                raise
        return self._send(method, target, body, headers, reference)

    def _send(self, method: str, target: str, body: bytes, headers: dict[str, str], reference: str) -> Answer:
        request = Request(method, target, self._headers(method, target, body) | headers, body)
        started = time.monotonic()
        try:
            response = self.transport.send(request)
        except TransportError as problem:
            self._log(request, type(problem).__name__, started, "")
            if isinstance(problem, OutcomeUnknown) and reference:
                text = f"{problem} The request may have arrived: look up or repeat {reference!r}."
                raise OutcomeUnknown(text, reference=reference) from problem
            raise
        self._log(request, response.status, started, response.headers.get("x-request-id", ""))
        return _read(response)

    def _headers(self, method: str, target: str, body: bytes) -> dict[str, str]:
        difference, until = self._clock
        now = self._now()
        signed = signing.headers(
            api_key=self._api_key,
            secret_key=self._secret_key,
            method=method,
            target=target,
            body=body,
            timestamp=int(now + (difference if now < until else 0)),
        )
        common = {"Accept": "application/json", "User-Agent": self._user_agent, **signed}
        is_write = method not in ("GET", "HEAD")
        return common | (
            {"Content-Type": "application/json", "Content-Length": str(len(body))} if is_write else {}
        )

    def _learn_the_time(self, refused: ApiError) -> bool:
        """Return whether the call should be repeated with the service's time, which is kept for ten minutes."""
        server_time = refused.document.get("server_time")
        if refused.code != "timestamp_out_of_range" or not isinstance(server_time, int):
            return False
        now = self._now()
        difference = server_time - now
        if not self._correct_clock or abs(difference) > LARGEST_DIFFERENCE:
            return False
        log.warning(
            "the clock of this machine is %d s %s", abs(difference), "slow" if difference > 0 else "fast"
        )
        self._clock = (difference, now + CLOCK_KEPT)
        return True

    def _log(self, request: Request, status: object, started: float, request_id: str) -> None:
        path = request.target.partition("?")[0]
        milliseconds = (time.monotonic() - started) * 1000
        log.info("%s %s %s %.0f ms %s", request.method, path, status, milliseconds, request_id)


def _read(response: Response) -> Answer:
    """Return the body of a success.

    :raises ApiError: the status is no success
    """
    meta = Meta(
        status=response.status,
        request_id=response.headers.get("x-request-id", ""),
        replayed=response.headers.get("idempotent-replayed") == "true",
        headers=response.headers,
    )
    if response.status == NOT_MODIFIED:
        return Answer(None, meta)
    try:
        document = json.loads(response.body) if response.body else None
    except ValueError:
        document = None
    if response.status in SUCCESS and document is not None:
        return Answer(document, meta)
    problem = document if isinstance(document, dict) else {}
    if response.status in SUCCESS:
        raise OutcomeUnknown("The answer is not JSON: is this the address of the service?")
    raise error_of(response.status, problem, retry_after=_retry_after(response))


def _retry_after(response: Response) -> float | None:
    text = response.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdecimal() else None


def _wait(problem: Exception, number: int) -> float | None:
    """Return the seconds to wait before another attempt, or None if there must be none."""
    if isinstance(problem, NotSent | OutcomeUnknown):
        return _drawn(number)
    if not isinstance(problem, ApiError) or problem.status not in RETRIED:
        return None
    if problem.retry_after is None:
        return _drawn(number)
    return problem.retry_after if problem.retry_after <= LONGEST_RETRY_AFTER else None


def _drawn(number: int) -> float:
    return random.uniform(0, FIRST_WAIT * 2**number)  # noqa: S311  (spreads retries; not a secret)


def _present(query: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (query or {}).items() if value is not None}
