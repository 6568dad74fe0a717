"""The checks of `sluice doctor`. Each yields findings, and none changes anything."""

from __future__ import annotations

import difflib
import json
import os
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import SplitResult, urlsplit

from sluice.client import Sluice
from sluice.credentials import VARIABLES
from sluice.errors import ApiError, Forbidden, InvalidRequest, TransportError
from sluice.transport import Request, Response, Transport
from sluice.version import __version__

OK, WARNING, WRONG = "ok", "warning", "wrong"
TIMEOUT = 5.0  # seconds
SLOW_CLOCK, REFUSED_CLOCK = 30, 300  # seconds; the service refuses timestamps that are further off
EXPIRES_SOON = 14 * 24 * 3600  # seconds
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
# Those of the client, and those that the signing samples of the guide read.
KNOWN = {*VARIABLES, "SLUICE_TIMESTAMP", "SLUICE_NONCE"}
SIMILAR = 0.85  # about two letters of fourteen


@dataclass(frozen=True)
class Finding:
    """A line of the report. `advice` says what to do, and is empty if nothing is."""

    check: str
    result: str
    detail: str
    advice: str = ""

    def document(self) -> dict[str, str]:
        return asdict(self)


def environment() -> Iterator[Finding]:
    """Check the variables of the environment. Their values are not shown."""
    proxies = sorted(name for name in os.environ if name.upper() in PROXIES and os.environ[name])
    if proxies:
        advice = "This client reads no proxy variable. If the way out is a proxy, use Sluice(…, proxy=…)."
        yield Finding("proxies", WARNING, f"{', '.join(proxies)} set", advice)
    else:
        yield Finding("proxies", OK, "none set")
    wrong = list(_misspelt(os.environ))
    yield from wrong or [Finding("variables", OK, "no misspelt SLUICE_ variable")]


def _misspelt(given: Mapping[str, str]) -> Iterator[Finding]:
    unset = [name for name in VARIABLES if not given.get(name)]
    for name in sorted(set(given) - KNOWN):
        near = difflib.get_close_matches(name.upper(), unset, n=1, cutoff=SIMILAR)
        if near:
            yield Finding("variables", WARNING, f"{name} is not read", f"Did you mean {near[0]}?")
        elif name.upper().startswith("SLUICE_"):
            yield Finding("variables", WARNING, f"{name} is not read", f"Known: {', '.join(VARIABLES)}.")


def network(base_url: str) -> Iterator[Finding]:
    """Check name, TCP and TLS, one after the other. The last finding is wrong if the service can't be reached."""
    parts = urlsplit(base_url)
    host, port = parts.hostname or "", parts.port or {"https": 443}.get(parts.scheme, 80)
    yield (found := _name(host, port))
    if found.result == WRONG:
        return
    started = time.monotonic()
    try:
        connection = socket.create_connection((host, port), timeout=TIMEOUT)
    except OSError as problem:
        advice = "Is the service running, is the port right, and does a firewall let you through?"
        yield Finding("tcp", WRONG, f"{host}:{port}: {_words(problem)}", advice)
        return
    with connection:
        yield Finding("tcp", OK, f"{host}:{port} in {_since(started)} ms")
        yield _tls(connection, parts)


def _name(host: str, port: int) -> Finding:
    try:
        addresses = {str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError) as problem:
        advice = "Check the spelling of the address, the DNS server and the VPN."
        return Finding("name", WRONG, f"{host}: {_words(problem)}", advice)
    return Finding("name", OK, f"{host} is {', '.join(sorted(addresses))}")


def _tls(connection: socket.socket, parts: SplitResult) -> Finding:
    if parts.scheme != "https":
        return Finding("tls", OK, "not used on this machine")
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        with context.wrap_socket(connection, server_hostname=parts.hostname) as secured:
            certificate = secured.getpeercert() or {}
            version = secured.version()
    except ssl.SSLCertVerificationError as problem:
        advice = "Renew the certificate, or use Sluice(…, ca_file=…) for one of your own authority."
        return Finding("tls", WRONG, problem.verify_message, advice)
    except OSError as problem:
        return Finding("tls", WRONG, _words(problem), "Does this port speak TLS 1.2 or newer?")
    ends = str(certificate.get("notAfter", ""))
    if ends and ssl.cert_time_to_seconds(ends) - time.time() < EXPIRES_SOON:
        return Finding("tls", WARNING, f"the certificate expires on {ends}", "Renew it.")
    return Finding("tls", OK, f"{version}, certificate valid until {ends}")


def service(transport: Transport) -> Iterator[Finding]:
    """Check liveness, versions and the clock, without a signature."""
    sent = time.time()
    try:
        alive = _unsigned(transport, "/livez")
    except TransportError as problem:
        yield Finding("livez", WRONG, str(problem), "Look at the log of the service or of its proxy.")
        return
    if _json(alive).get("status") != "ok":
        advice = "Is this the address of a Sluice, without a path? A proxy in front must pass /livez on."
        yield Finding("livez", WRONG, f"answered {alive.status}", advice)
        return
    yield Finding("livez", OK, "the service is up")
    yield _versions(transport)
    yield _clock(alive, (sent + time.time()) / 2)


def _versions(transport: Transport) -> Finding:
    try:
        about = _json(_unsigned(transport, "/api/openapi.json")).get("info")
    except TransportError as problem:
        return Finding("versions", WARNING, str(problem), "Try again.")
    theirs = str(about.get("version", "")) if isinstance(about, dict) else ""
    if theirs == __version__:
        return Finding("versions", OK, f"service and client {theirs}")
    advice = "Use the client of the service's version: what is newer than the client has no method."
    return Finding("versions", WARNING, f"service {theirs or 'unknown'}, client {__version__}", advice)


def _clock(answer: Response, now: float) -> Finding:
    try:
        theirs = parsedate_to_datetime(answer.headers.get("date", "")).timestamp()
    except ValueError:
        return Finding("clock", WARNING, "the answer has no Date", "A proxy in front removes it.")
    difference = round(now - theirs)
    if abs(difference) <= SLOW_CLOCK:
        return Finding("clock", OK, f"{abs(difference)} s from the service's")
    advice = "Set the clock by NTP. The service refuses timestamps that are more than 300 s off."
    result = WARNING if abs(difference) < REFUSED_CLOCK else WRONG
    return Finding("clock", result, f"{abs(difference)} s {'fast' if difference > 0 else 'slow'}", advice)


def keys(client: Sluice) -> Iterator[Finding]:
    """Check the key pair by a signed read, what the key may do, and how many calls are left."""
    started = time.monotonic()
    try:
        balances = client.balance.get()
    except ApiError as problem:
        yield Finding("read", WRONG, str(problem), _ADVICE.get(problem.code, "See the message."))
        return
    except TransportError as problem:
        yield Finding("read", WRONG, str(problem), "Look at the log of the service or of its proxy.")
        return
    yield Finding("read", OK, f"GET /api/balance signed and answered in {_since(started)} ms")
    yield _access(client)
    headers = balances[0].meta.headers if balances and balances[0].meta else {}
    yield _rate(headers)


def _access(client: Sluice) -> Finding:
    """Find out what the key may do by a lookup without its fields, which is refused in either case."""
    try:
        client.call("POST", "/api/banks/resolve", body={})
    except Forbidden:
        advice = "Make a key with full access in the dashboard, if this one should pay."
        return Finding("key", OK, "accepted, read-only", advice)
    except InvalidRequest:
        return Finding("key", OK, "accepted, full access")
    except (ApiError, TransportError) as problem:
        return Finding("key", WARNING, f"accepted, access unknown: {problem}", "Try again.")
    return Finding("key", OK, "accepted, full access")


def _rate(headers: Mapping[str, str]) -> Finding:
    left = re.search(r";r=(\d+)", headers.get("ratelimit", ""))
    limit = re.search(r";q=(\d+);w=(\d+)", headers.get("ratelimit-policy", ""))
    if not left or not limit:
        return Finding("rate", OK, "the service states no limit")
    calls, most, seconds = int(left[1]), int(limit[1]), int(limit[2])
    detail = f"{calls} of {most} reads left in {seconds} s"
    if calls * 10 >= most:
        return Finding("rate", OK, detail)
    return Finding("rate", WARNING, detail, "Something else calls with this key: spread its calls.")


_ADVICE = {
    "unknown_key": "Is the key of this service, not revoked and not expired? Copy it again: `sluice login`.",
    "invalid_signature": "Copy the secret key again: `sluice login`. A proxy in front must not change the path.",
    "timestamp_out_of_range": "Set the clock of this machine by NTP.",
    "rate_limited": "Wait a moment.",
}


def _unsigned(transport: Transport, target: str) -> Response:
    return transport.send(Request("GET", target, {"Accept": "application/json"}))


def _json(answer: Response) -> dict[str, object]:
    try:
        document = json.loads(answer.body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _words(problem: Exception) -> str:
    text = problem.strerror if isinstance(problem, OSError) else str(problem)
    return text or type(problem).__name__


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
