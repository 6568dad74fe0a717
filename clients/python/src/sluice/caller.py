"""Signed calls: retries, timeouts, the clock's difference, and errors of answers."""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from sluice import lookups, signing
from sluice.card import Body
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
UNAUTHORIZED = 401
WITHOUT_BODY = (204, 304)
NOT_OURS = "The answer is not one of Sluice's: is this the address of the service?"
# Fields whose float or boolean would be a mistake of the program: 10.0 and True are JSON that looks right.
WHOLE = {
    "amount",
    "min",
    "max",
    "suggested",
    "expiry_duration",
    "transfer_window",
    "max_uses",
    "quantity_max",
}


@dataclass(frozen=True)
class Meta:
    """What an answer says beside its body."""

    status: int
    request_id: str
    replayed: bool
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Answer:
    """The body of a successful answer, and its meta. The body of a 204 or 304 is None."""

    document: Any
    meta: Meta

    @property
    def data(self) -> list[Any]:
        """The items of a list."""
        data = self.document.get("data")
        if not isinstance(data, list):
            raise OutcomeUnknown(NOT_OURS)
        return data


@dataclass(frozen=True)
class _Call:
    """A request before it is signed."""

    method: str
    target: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    reference: str


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
        :raises TypeError: an amount is a float or a boolean
        """
        _check_amounts(body)
        raw = Body(b"" if body is None else json.dumps(body, separators=(",", ":"), allow_nan=False).encode())
        target = _target(path, query)
        call = _Call(method, target, raw, headers or {}, lookups.reference_of(target, body))
        if is_repeatable is None:
            is_repeatable = method == "GET" or bool((body or {}).get("reference"))
        return self._repeated(call, retries=self._retries if is_repeatable else 0)

    def _repeated(self, call: _Call, *, retries: int) -> Answer:
        deadline = time.monotonic() + ALL_RETRIES
        number, is_corrected = 0, False
        wait: float | None
        while True:
            try:
                return self._attempt(call, number + 1)
            except (TransportError, ApiError) as problem:
                if not is_corrected and self._learn_the_time(problem):
                    is_corrected, wait = True, 0.0
                else:
                    wait = _wait(problem, number)
                    if number >= retries:
                        raise
                    number += 1
                if wait is None or time.monotonic() + wait > deadline:
                    raise
            self._sleep(wait)

    def _attempt(self, call: _Call, number: int) -> Answer:
        request = Request(call.method, call.target, self._headers(call), call.body)
        started = time.monotonic()
        status: object = "not sent"
        request_id = ""
        try:
            response = self.transport.send(request)
            status, request_id = response.status, response.headers.get("x-request-id", "")
            return _read(response, request)
        except OutcomeUnknown as problem:
            status = status if isinstance(status, int) else "unknown"
            if call.method == "GET":
                raise
            text = f"{problem} The request may have arrived: {lookups.advice(call.target, call.reference)}"
            raise OutcomeUnknown(text, reference=call.reference) from problem.__cause__
        finally:
            milliseconds = (time.monotonic() - started) * 1000
            path = call.target.partition("?")[0]
            log.info(
                "%s %s %s %.0f ms, attempt %d %s", call.method, path, status, milliseconds, number, request_id
            )

    def _headers(self, call: _Call) -> dict[str, str]:
        difference, until = self._clock
        now = self._now()
        signed = signing.headers(
            api_key=self._api_key,
            secret_key=self._secret_key,
            method=call.method,
            target=call.target,
            body=call.body,
            timestamp=int(now + (difference if now < until else 0)),
        )
        made = {"Accept": "application/json", "User-Agent": self._user_agent, **signed}
        if call.method not in ("GET", "HEAD"):
            made |= {"Content-Type": "application/json", "Content-Length": str(len(call.body))}
        return made | dict(call.headers)

    def _learn_the_time(self, problem: Exception) -> bool:
        """Return whether the call should be repeated with the service's time, which is kept for ten minutes."""
        if not isinstance(problem, ApiError) or problem.code != "timestamp_out_of_range":
            return False
        server_time = problem.document.get("server_time")
        if not self._correct_clock or not isinstance(server_time, int):
            return False
        now = self._now()
        difference = server_time - now
        if abs(difference) > LARGEST_DIFFERENCE:
            return False
        side = "slow" if difference > 0 else "fast"
        log.warning("the clock of this machine is %d s %s", abs(difference), side)
        self._clock = (difference, now + CLOCK_KEPT)
        return True


def _read(response: Response, request: Request) -> Answer:
    """Return the body of a success.

    :raises ApiError: the status is no success
    :raises OutcomeUnknown: the answer is a success, but not a JSON object
    """
    meta = Meta(
        status=response.status,
        request_id=response.headers.get("x-request-id", ""),
        replayed=response.headers.get("idempotent-replayed") == "true",
        headers=response.headers,
    )
    if response.status in WITHOUT_BODY:
        return Answer(None, meta)
    try:
        document = json.loads(response.body) if response.body else None
    except ValueError:
        document = None
    if response.status in SUCCESS:
        if not isinstance(document, dict):
            raise OutcomeUnknown(NOT_OURS)
        return Answer(document, meta)
    problem = document if isinstance(document, dict) else {}
    signed = _string_to_sign(request) if response.status == UNAUTHORIZED else ""
    raise error_of(response.status, problem, retry_after=_retry_after(response), signed=signed)


def _string_to_sign(request: Request) -> str:
    return signing.string_to_sign(
        timestamp=request.headers["X-Timestamp"],
        nonce=request.headers["X-Nonce"],
        method=request.method,
        target=request.target,
        body=request.body,
    )


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


def _target(path: str, query: Mapping[str, Any] | None) -> str:
    """Return the target, as it is signed and sent. A path that has a query is used as it is."""
    if not path.startswith("/"):
        raise ValueError("A path starts with a slash, such as /api/banks.")
    given = {name: _text(value) for name, value in (query or {}).items() if value is not None}
    separator = "&" if "?" in path else "?"
    return signing.encoded(f"{path}{separator}{urlencode(given)}" if given else path)


def _text(value: Any) -> str:
    """Return a value of a query: booleans and times as the API writes them."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value.isoformat() if hasattr(value, "isoformat") else value)


def _check_amounts(node: Any, name: str = "") -> None:
    """Check that amounts and other whole numbers are ints, at any depth; hours may be fractions. No value is repeated.

    :raises TypeError: one is a float or a boolean
    """
    if isinstance(node, Mapping):
        for key, value in node.items():
            _check_amounts(value, str(key))
    elif isinstance(node, list | tuple):
        for value in node:
            _check_amounts(value, name)
    elif (isinstance(node, float) and name != "overlap_hours") or (isinstance(node, bool) and name in WHOLE):
        kind = type(node).__name__
        raise TypeError(
            f"{name} must be an int, not a {kind}. Amounts are in minor units: NGN 2,500.00 is 250000."
        )
