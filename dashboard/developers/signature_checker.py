"""Which step of a signed request goes wrong, and what the usual mistake behind it is.

The steps and their order are those of the API's own checks. A signature that does not fit is tried against
the mistakes that integrators make; one that explains it is named.

>>> text = string_of(Pasted(method="GET", target="/api/banks", body="", headers={
...     "X-Timestamp": "1767225602", "X-Nonce": "A1b2C3d4E5f6G7h8"}))
>>> text.split(chr(10))[2:4]
['GET', '/api/banks']
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from kit import bounded_json
from kit.masking import mask_target
from merchants import signing
from merchants.models import ApiKey
from merchants.signed_headers import HEADERS, form_error

RIGHT, WRONG, SKIPPED = "right", "wrong", "skipped"
MILLISECONDS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pasted:
    """A request as somebody sent it; headers by their proper names."""

    method: str
    target: str
    body: str
    headers: Mapping[str, str]

    def header(self, name: str) -> str:
        return self.headers.get(name, "")


@dataclass(frozen=True, slots=True)
class Step:
    """One check: what it looks at, how it came out, and in words."""

    name: str
    state: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All the steps, with the string that the server signs; the signature only for whoever gave the secret."""

    steps: list[Step]
    string_to_sign: str
    signature: str

    @property
    def verdict(self) -> str:
        wrong = next((step for step in self.steps if step.state == WRONG), None)
        if wrong:
            return f"It goes wrong at: {wrong.name.lower()}"
        return "All of it is right" if self.steps[-1].state == RIGHT else "Nothing wrong so far"


def read_headers(text: str) -> dict[str, str]:
    """Return the headers of some pasted lines, by their proper names; also of `-H 'Name: value'` lines.

    >>> read_headers("x-api-key: pk_1" + chr(10) + "-H 'X-Nonce: abc'" + chr(10) + "Host: here")
    {'X-Api-Key': 'pk_1', 'X-Nonce': 'abc'}
    """
    proper = {name.lower(): name for name in HEADERS}
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.strip().removeprefix("-H").strip(" '\"\\").partition(":")
        if name.strip().lower() in proper:
            found[proper[name.strip().lower()]] = value.strip()
    return found


def string_of(pasted: Pasted, *, target: str | None = None, body: str | None = None) -> str:
    return signing.string_to_sign(
        timestamp=pasted.header("X-Timestamp"),
        nonce=pasted.header("X-Nonce"),
        method=pasted.method,
        target=pasted.target if target is None else target,
        body=(pasted.body if body is None else body).encode(errors="replace"),
    )


def check(
    pasted: Pasted,
    *,
    key: ApiKey | None,
    given_secret: str,
    nonce_was_used: bool,
    tolerance: int,
    now: datetime,
) -> Report:
    """Check a request as the API would. `key` is the business's own that the headers name, if it is usable.

    The key's stored secret tells only right from wrong; what is right is shown to those who know the secret.
    """
    secret = given_secret or (key.secret if key else "")
    text = string_of(pasted)
    steps = [
        _presence(pasted),
        _form(pasted),
        _key(pasted, key, given_secret),
        _target(pasted),
        _clock(pasted, tolerance, now),
        _signature(pasted, secret, text),
        _nonce(nonce_was_used=nonce_was_used, is_known=key is not None),
    ]
    return Report(
        steps=steps,
        string_to_sign=_shown(text),
        signature=signing.sign(given_secret, text) if given_secret else "",
    )


def _presence(pasted: Pasted) -> Step:
    missing = [name for name in HEADERS if not pasted.header(name)]
    if missing:
        return Step("Headers", WRONG, f"Missing: {', '.join(missing)}.")
    return Step("Headers", RIGHT, "All four are there.")


def _form(pasted: Pasted) -> Step:
    malformed = [
        name for name, form in HEADERS.items() if pasted.header(name) and not form.match(pasted.header(name))
    ]
    if not malformed:
        return Step("Their form", RIGHT, "Each has its form.")
    words = " ".join(form_error(name, pasted.header(name)) for name in malformed)
    return Step("Their form", WRONG, words)


def _key(pasted: Pasted, key: ApiKey | None, given_secret: str) -> Step:
    if not pasted.header("X-Api-Key"):
        return Step("Key", SKIPPED, "No X-Api-Key to look for.")
    if pasted.header("X-Api-Key").startswith("sk_"):
        return Step("Key", WRONG, "That is a secret key. Never send it; send the public id, pk_….")
    if key is None:
        return Step("Key", WRONG, "This business has no active key with that public id.")
    if given_secret and not signing.is_same_secret(given_secret, key.secret):
        return Step("Key", WRONG, "The key is active, but the secret you gave is not its secret.")
    return Step("Key", RIGHT, "It is an active key of this business.")


def _target(pasted: Pasted) -> Step:
    if pasted.target.startswith(("http://", "https://")):
        return Step("Target", WRONG, "Sign the path and query only, without scheme and host.")
    if not pasted.target.startswith("/api/"):
        return Step("Target", WRONG, "Every signed path begins with /api/.")
    return Step("Target", RIGHT, "Path and query, as they are sent.")


def _clock(pasted: Pasted, tolerance: int, now: datetime) -> Step:
    digits = pasted.header("X-Timestamp")
    if not digits.isascii() or not digits.isdigit():
        return Step("Clock", SKIPPED, "No timestamp to compare.")
    away = int(digits) - int(now.timestamp())
    if abs(away) <= tolerance:
        return Step("Clock", RIGHT, f"{abs(away)} seconds from the server's clock.")
    if abs(int(digits) // MILLISECONDS - int(now.timestamp())) <= 10 * tolerance:
        return Step("Clock", WRONG, "These are milliseconds; send seconds.")
    side = "ahead of" if away > 0 else "behind"
    return Step(
        "Clock",
        WRONG,
        f"{timedelta(seconds=abs(away))} {side} the server's clock; {tolerance} seconds are allowed. "
        "A request pasted later than it was sent shows this too.",
    )


def _signature(pasted: Pasted, secret: str, text: str) -> Step:
    given = pasted.header("X-Signature")
    if not secret or not HEADERS["X-Signature"].match(given):
        return Step(
            "Signature", SKIPPED, "It takes an active key, or the secret, and a signature of its form."
        )
    if signing.is_signature(given, secret_key=secret, text=text):
        return Step("Signature", RIGHT, "It fits the string below.")
    for mistake, variant, key in _mistakes(pasted, secret, text):
        if signing.is_signature(given, secret_key=key, text=variant):
            return Step("Signature", WRONG, mistake)
    return Step(
        "Signature",
        WRONG,
        "It does not fit the string below, nor any usual mistake. Compare line by line with what you "
        "signed; the body's hash must be of the very bytes that are sent.",
    )


def _mistakes(pasted: Pasted, secret: str, text: str) -> Iterator[tuple[str, str, str]]:
    """Yield what may have been done wrong, and the string and key that it leads to."""
    path, _, query = pasted.target.partition("?")
    if query:
        yield "You signed the path without its query.", string_of(pasted, target=path), secret
    yield "You signed with a line feed at the end of the string.", text + "\n", secret
    yield "You joined the lines with CR LF instead of LF.", text.replace("\n", "\r\n"), secret
    yield "You joined the parts with nothing between them.", text.replace("\n", ""), secret
    lines = text.split("\n")
    yield (
        "You signed the method in small letters.",
        "\n".join([*lines[:2], lines[2].lower(), *lines[3:]]),
        secret,
    )
    yield "You signed the body itself instead of its SHA-256.", "\n".join([*lines[:4], pasted.body]), secret
    yield "You wrote the body's SHA-256 in capitals.", "\n".join([*lines[:4], lines[4].upper()]), secret
    yield "You swapped timestamp and nonce.", "\n".join([lines[1], lines[0], *lines[2:]]), secret
    yield "You signed the body alone.", pasted.body, secret
    if pasted.body:
        yield "You signed an empty body and sent this one.", string_of(pasted, body=""), secret
    for mistake, body in _other_bodies(pasted.body):
        yield mistake, string_of(pasted, body=body), secret
    yield "You signed with the public id instead of the secret key.", text, pasted.header("X-Api-Key")
    yield "There is a blank or line feed at the end of your secret key.", text, secret + "\n"


def _other_bodies(body: str) -> Iterator[tuple[str, str]]:
    yield "The body you signed had a line feed at its end.", body + "\n"
    yield "The body you signed had no white space around it.", body.strip()
    yield "The body you signed had CR LF line ends.", body.replace("\n", "\r\n")
    try:
        document = bounded_json.loads(body)
    except ValueError:
        return
    for separators, indent in (((",", ":"), None), ((", ", ": "), None), ((",", ": "), 2), ((",", ": "), 4)):
        for ascii_only in (True, False):
            for is_sorted in (True, False):
                yield (
                    "The body you signed was written differently from the one sent: sign the bytes you send.",
                    json.dumps(
                        document,
                        separators=separators,
                        indent=indent,
                        ensure_ascii=ascii_only,
                        sort_keys=is_sorted,
                    ),
                )


def _nonce(*, nonce_was_used: bool, is_known: bool) -> Step:
    if nonce_was_used:
        return Step(
            "Nonce", SKIPPED, "This key has used it: the request has arrived. Sent again, it is refused."
        )
    return Step("Nonce", RIGHT if is_known else SKIPPED, "This key has not used it yet.")


def _shown(text: str) -> str:
    *before, target, body_hash = text.rsplit("\n", 2)
    return "\n".join([*before, mask_target(target), body_hash])
