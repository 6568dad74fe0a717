"""Find the failing check of a signed request, and the likely mistake.

The checks and their order are those of the API. A signature that doesn't match is compared with the signatures that
common mistakes produce.

>>> text = Pasted(method="GET", target="/api/banks", body="", headers={
...     "X-Timestamp": "1767225602", "X-Nonce": "A1b2C3d4E5f6G7h8"}).signed().text()
>>> text.split(chr(10))[2:4]
['GET', '/api/banks']
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from kit.text.masking import mask_target
from kit.time.durations import in_words
from merchants.api import signature_mistakes, signing
from merchants.api.signature_mistakes import Signed
from merchants.api.signed_headers import HEADERS, form_error
from merchants.models import ApiKey

RIGHT, WRONG, SKIPPED = "right", "wrong", "skipped"
MILLISECONDS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pasted:
    """A request as it was sent; headers by their canonical names."""

    method: str
    target: str
    body: str
    headers: Mapping[str, str]

    def header(self, name: str) -> str:
        return self.headers.get(name, "")

    def signed(self) -> Signed:
        return Signed(
            timestamp=self.header("X-Timestamp"),
            nonce=self.header("X-Nonce"),
            method=self.method,
            target=self.target,
            body=self.body.encode(errors="replace"),
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One check and its result."""

    name: str
    state: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All checks, with the string to sign. The signature is included only if the user entered the secret."""

    steps: list[Step]
    string_to_sign: str
    signature: str

    @property
    def verdict(self) -> str:
        wrong = next((step for step in self.steps if step.state == WRONG), None)
        if wrong:
            return f"Failed check: {wrong.name.lower()}"
        return "All checks passed" if self.steps[-1].state == RIGHT else "No errors found so far"


def read_headers(text: str) -> dict[str, str]:
    """Return the headers of pasted lines by their canonical names. Lines may be curl options such as `-H 'Name: value'`.

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


def check(
    pasted: Pasted,
    *,
    key: ApiKey | None,
    given_secret: str,
    nonce_was_used: bool,
    tolerance: int,
    now: datetime,
) -> Report:
    """Check a request as the API would. `key` is the usable key of the business that the headers name, or None.

    The stored secret is used only to compare signatures. The correct signature is shown only if the user entered the
    secret.
    """
    secret = given_secret or (key.secret if key else "")
    text = pasted.signed().text()
    steps = [
        _presence(pasted),
        _form(pasted),
        _key(pasted, key, given_secret),
        _target(pasted),
        _clock(pasted, tolerance, now),
        _signature(pasted, key, secret, text),
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
    return Step("Headers", RIGHT, "All four headers are present.")


def _form(pasted: Pasted) -> Step:
    malformed = [
        name for name, form in HEADERS.items() if pasted.header(name) and not form.match(pasted.header(name))
    ]
    if not malformed:
        return Step("Header format", RIGHT, "All headers have the right format.")
    errors = " ".join(form_error(name, pasted.header(name)) for name in malformed)
    return Step("Header format", WRONG, errors)


def _key(pasted: Pasted, key: ApiKey | None, given_secret: str) -> Step:
    if not pasted.header("X-Api-Key"):
        return Step("Key", SKIPPED, "There is no X-Api-Key header.")
    if pasted.header("X-Api-Key").startswith("sk_"):
        return Step(
            "Key",
            WRONG,
            "X-Api-Key has a secret key. Never send it. Send the public ID, which starts with pk_.",
        )
    if key is None:
        return Step("Key", WRONG, "This business has no active key with this public ID.")
    if given_secret and not signing.is_same_secret(given_secret, key.secret):
        return Step("Key", WRONG, "The key is active, but the secret key you entered doesn't belong to it.")
    return Step("Key", RIGHT, "The key is active.")


def _target(pasted: Pasted) -> Step:
    if pasted.target.startswith(("http://", "https://")):
        return Step("Target", WRONG, "Sign only the path and query, without scheme and host.")
    if not pasted.target.startswith("/api/"):
        return Step("Target", WRONG, "The path must start with /api/.")
    return Step("Target", RIGHT, "The target is a path and query.")


def _clock(pasted: Pasted, tolerance: int, now: datetime) -> Step:
    digits = pasted.header("X-Timestamp")
    if not digits.isascii() or not digits.isdigit():
        return Step("Clock", SKIPPED, "There is no timestamp to compare.")
    away = int(digits) - int(now.timestamp())
    if abs(away) <= tolerance:
        return Step("Clock", RIGHT, f"The timestamp is {abs(away)} seconds from the server's clock.")
    if abs(int(digits) // MILLISECONDS - int(now.timestamp())) <= 10 * tolerance:
        return Step("Clock", WRONG, "The timestamp is in milliseconds. Send seconds.")
    side = "ahead of" if away > 0 else "behind"
    return Step(
        "Clock",
        WRONG,
        f"The timestamp is {in_words(timedelta(seconds=abs(away)), parts=2)} {side} the server's clock. At most "
        f"{tolerance} seconds are allowed. You also see this if you paste a request some time after you sent it.",
    )


def _signature(pasted: Pasted, key: ApiKey | None, secret: str, text: str) -> Step:
    given = pasted.header("X-Signature")
    if not secret or not HEADERS["X-Signature"].match(given):
        return Step(
            "Signature", SKIPPED, "This needs an active key or the secret key, and a well-formed signature."
        )
    if signing.is_signature(given, secret_key=secret, text=text):
        return Step("Signature", RIGHT, "The signature matches the string below.")
    mistake = signature_mistakes.find(
        given,
        pasted.signed(),
        secret=secret,
        public_id=pasted.header("X-Api-Key"),
        other_secrets=signature_mistakes.other_secrets_of(key) if key else (),
    )
    if mistake:
        return Step("Signature", WRONG, mistake.message)
    return Step(
        "Signature",
        WRONG,
        "The signature doesn't match the string below, nor any common mistake. Compare the string with yours line by "
        "line. Hash the exact bytes of the body that you send.",
    )


def _nonce(*, nonce_was_used: bool, is_known: bool) -> Step:
    if nonce_was_used:
        return Step(
            "Nonce",
            SKIPPED,
            "This key has already used this nonce, so the request arrived. Use a new nonce to send it again.",
        )
    return Step("Nonce", RIGHT if is_known else SKIPPED, "This key hasn't used this nonce yet.")


def _shown(text: str) -> str:
    *others, target, body_hash = text.rsplit("\n", 2)
    return "\n".join([*others, mask_target(target), body_hash])
