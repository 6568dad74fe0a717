"""Send copies of events to a receiver, as the service sends deliveries."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from sluice import webhooks
from sluice._models import EventCopy
from sluice.cli.arguments import WrongUsage

SECONDS = 10.0  # from connecting to the end of the answer's headers
WHICH_KEY = "does your receiver have the signing key above? It is not your endpoint's"
USER_AGENT = "Sluice-Webhooks/1.0"


@dataclass(frozen=True)
class Answer:
    """What a receiver answered: a status, or why there is none."""

    status: int | None
    error: str
    milliseconds: int

    @property
    def is_success(self) -> bool:
        return self.status is not None and self.status // 100 == 2  # noqa: PLR2004  (2xx)


def receiver(address: str) -> SplitResult:
    """Return an address that events can be forwarded to. Without a scheme it is http.

    :raises WrongUsage: it is no address
    """
    text = address if "://" in address else f"http://{address}"
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or not text.isascii() or any(sign <= " " for sign in text):
        raise WrongUsage("--forward-to needs an address such as http://127.0.0.1:3000/webhooks.")
    return parts


def headers(event: EventCopy, hash_key: str) -> dict[str, str]:
    """Return the headers of a delivery."""
    signed = {
        "User-Agent": USER_AGENT,
        "Accept": "*/*",
        "Content-Type": "application/json",
        "X-Service-Signature": webhooks.sign(event.body.encode(), hash_key),
        "X-Service-Idempotency-Key": event.event_id,
        "X-Service-Event": event.event,
        "X-Service-Attempt": str(event.times),
    }
    return signed | ({"X-Service-Test": "true"} if event.origin == "test" else {})


def forward(
    to: SplitResult, body: bytes | Iterable[bytes], headers: dict[str, str], *, seconds: float = SECONDS
) -> Answer:
    """Post a body and return the answer. No redirect is followed, and no proxy used.

    The time is that of the whole exchange, also against a receiver that sends byte by byte.
    """
    started = time.monotonic()
    connection = _connection(to, seconds)
    end = threading.Timer(seconds, _shut, [connection])
    end.daemon = True
    end.start()
    status, error = None, ""
    try:
        connection.request("POST", _target(to), body, headers)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as problem:
        error = _words(problem)
    finally:
        end.cancel()
        connection.close()
    taken = time.monotonic() - started
    if taken >= seconds:  # an answer that was cut off may look complete
        status, error = None, "no answer"
    return Answer(status, error, round(taken * 1000))


def hang_up(to: SplitResult, body: bytes, headers: dict[str, str]) -> Answer:
    """Post a body and close the connection before the answer."""
    connection = _connection(to, SECONDS)
    try:
        connection.request("POST", _target(to), body, headers)
    except (OSError, http.client.HTTPException) as problem:
        return Answer(None, _words(problem), 0)
    finally:
        connection.close()
    return Answer(None, "", 0)


def _target(to: SplitResult) -> str:
    return to._replace(scheme="", netloc="", fragment="").geturl() or "/"


def _connection(to: SplitResult, seconds: float) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if to.scheme == "https" else http.client.HTTPConnection
    return kind(to.hostname or "", to.port, timeout=seconds)


def _shut(connection: http.client.HTTPConnection) -> None:
    with suppress(OSError, AttributeError):  # it is closed, or was never connected
        connection.sock.shutdown(socket.SHUT_RDWR)


def _words(problem: Exception) -> str:
    """Return a failure in a few words, without anything of the exchange."""
    if isinstance(problem, TimeoutError):
        return "no answer"
    if isinstance(problem, ssl.SSLCertVerificationError):
        return "invalid certificate"
    if isinstance(problem, socket.gaierror):
        return "unknown host"
    if isinstance(problem, http.client.RemoteDisconnected):
        return "closed without an answer"
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror.lower()
    return "no HTTP answer"
