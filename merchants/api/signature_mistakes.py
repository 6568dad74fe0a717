"""Find the mistake behind a signature that doesn't match, by trying the known ones.

The sandbox names it in the response to an invalid signature, and the dashboard's signature checker uses it too. Only
keys of the calling business are tried. The work is bounded: larger bodies aren't formatted again, and a business's
newest keys are tried.

>>> signed = Signed(timestamp="1767225602", nonce="A1b2C3d4E5f6G7h8", method="GET", target="/api/payments?limit=5")
>>> found = find(signing.sign("sk_1", signed.text(target="/api/payments")), signed, secret="sk_1", public_id="pk_1")
>>> found.code
'query_missing'
"""

import base64
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, product
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from django.conf import settings

from kit.files import bounded_json
from merchants.api import signing
from merchants.models import ApiKey

LONGEST_FORMATTED = 16 * 1024  # bytes of a body that is formatted again; indentation multiplies its size
KEYS_TRIED = 20
MOST_SEGMENTS = 8  # of a path that is tried without its beginning or end
MILLISECONDS = 1_000
# What proxies are often mounted at. A signature over any other prefix can't be recognised.
PREFIXES = ("/api", "/v1", "/v2", "/sluice", "/payments", "/pay", "/gateway", "/proxy", "/backend")
SEPARATORS = ("\r\n", "", ".", ":", "|", " ", r"\n")
LAYOUTS = (
    {"separators": (",", ":")},
    {"separators": (", ", ": ")},
    {"indent": 2},
    {"indent": 4},
    {"indent": "\t"},
)
# By the code of the mistake, and a name where a code has several.
MESSAGES = {
    "query_missing": "You signed the path without its query.",
    "full_url": "You signed the whole URL. Sign only the path and query, without scheme and host.",
    "target_decoded": "You signed the target decoded. Sign it percent-encoded, exactly as sent.",
    "path_differs:slash": "You signed a path that differs by a slash at its end. Sign the path that arrives here.",
    "path_differs:longer": "You signed a longer path than the one that arrived: a proxy removes its beginning. Sign the target as it arrives: see string_to_sign.",
    "path_differs:shorter": "You signed only a part of the path that arrived: the whole path is signed, with /api at its beginning. See string_to_sign.",
    "line_feed_at_end": "You signed with a line feed at the end of the string.",
    "wrong_separator": "You joined the parts with something other than LF line feeds, such as CR LF, nothing or spaces.",
    "method_in_lower_case": "You signed the method in lower case.",
    "parts_swapped": "You swapped the timestamp and the nonce.",
    "body_not_hashed": "You signed the body itself instead of its SHA-256.",
    "body_hash_not_hex": "You wrote the body's SHA-256 in upper case or as Base64. Write it as lower-case hex.",
    "body_hash_missing": "You left out the body's SHA-256. Without a body, it is the hash of no bytes.",
    "only_body_signed": "You signed only the body.",
    "body_empty": "You signed an empty body, but sent this one.",
    "body_whitespace": "The body you signed had a line feed at its end, no white space around it, or CR LF line endings.",
    "body_reserialised": "The body you signed was formatted differently from the one you sent. Sign the bytes you send.",
    "public_id_as_key": "You signed with the public ID instead of the secret key.",
    "key_whitespace": "Your secret key ends with a space or line feed.",
    "key_incomplete": "You signed with a part of the secret key. Use all of it, including sk_.",
    "webhook_key": "You signed with the signing key of your webhooks. Use the secret key (sk_…).",
    "timestamp_in_milliseconds": "You signed the timestamp in milliseconds, but sent seconds. Sign the value of X-Timestamp.",
}


class Mistake(NamedTuple):
    """A known mistake: its code and what to do instead."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """The parts of the string to sign, as the request was sent."""

    timestamp: str
    nonce: str
    method: str
    target: str
    body: bytes = b""
    host: str = ""

    def text(self, **changed: Any) -> str:
        parts = {name: getattr(self, name) for name in ("timestamp", "nonce", "method", "target", "body")}
        return signing.string_to_sign(**parts | changed)


def find(
    signature: str,
    signed: Signed,
    *,
    secret: str,
    public_id: str,
    other_secrets: Iterable[tuple[Mistake, str]] = (),
) -> Mistake | None:
    """Return the known mistake that leads to this signature, or None."""
    text = signed.text()
    tried = chain(
        ((_mistake(name), secret, variant) for name, variant in _texts(signed, text)),
        ((_mistake(name), key, text) for name, key in _keys(secret, public_id)),
        ((mistake, key, text) for mistake, key in other_secrets),
        ((_mistake("timestamp_in_milliseconds"), secret, variant) for variant in _in_milliseconds(text)),
    )
    found = (each for each, key, of in tried if signing.is_signature(signature, secret_key=key, text=of))
    return next(found, None)


def other_secrets_of(key: ApiKey) -> Iterator[tuple[Mistake, str]]:
    """Yield the other secrets that the business of a key could have signed with by mistake."""
    for endpoint in key.business.webhook_endpoints.filter(deleted_at=None):
        yield _mistake("webhook_key"), endpoint.hash_key
    others = ApiKey.objects.filter(business=key.business_id).exclude(pk=key.pk).order_by("-pk")
    for other in others[:KEYS_TRIED]:
        message = f"You signed with the secret key of {other.public_id}, but X-Api-Key names {key.public_id}."
        yield Mistake("other_key_pair", message), other.secret


def _mistake(name: str) -> Mistake:
    return Mistake(name.partition(":")[0], MESSAGES[name])


def _texts(signed: Signed, text: str) -> Iterator[tuple[str, str]]:
    """Yield the mistakes in the string to sign, each with the string that it leads to."""
    yield from ((name, signed.text(target=target)) for name, target in _targets(signed))
    yield "line_feed_at_end", text + "\n"
    yield from (("wrong_separator", text.replace("\n", separator)) for separator in SEPARATORS)
    yield "method_in_lower_case", text.replace(f"\n{signed.method.upper()}\n", f"\n{signed.method.lower()}\n")
    yield "parts_swapped", signed.text(timestamp=signed.nonce, nonce=signed.timestamp)
    start, _, body_hash = text.rpartition("\n")
    raw = signed.body.decode(errors="surrogateescape")
    yield "body_not_hashed", f"{start}\n{raw}"
    for other in (body_hash.upper(), base64.b64encode(bytes.fromhex(body_hash)).decode()):
        yield "body_hash_not_hex", f"{start}\n{other}"
    yield "body_hash_missing", start
    yield "only_body_signed", raw
    yield from ((name, signed.text(body=body)) for name, body in _bodies(signed.body))


def _targets(signed: Signed) -> Iterator[tuple[str, str]]:
    path, mark, query = signed.target.partition("?")
    rest = mark + query
    if mark:
        yield "query_missing", path
    public = urlsplit(settings.PUBLIC_URL)
    for scheme, host in product(("https://", "http://", ""), {signed.host, public.netloc} - {""}):
        yield "full_url", scheme + host + signed.target
    if unquote(signed.target) != signed.target:
        yield "target_decoded", unquote(signed.target)
    yield "path_differs:slash", (path.rstrip("/") if path.endswith("/") else path + "/") + rest
    for prefix in {public.path.rstrip("/"), *PREFIXES} - {""}:
        yield "path_differs:longer", prefix + signed.target
    yield "path_differs:shorter", path.removeprefix("/") + rest
    segments = path.split("/")[1:]
    for at in range(1, min(len(segments), MOST_SEGMENTS)):
        for part, slash, end in product((segments[at:], segments[:at]), ("/", ""), (rest, "")):
            yield "path_differs:shorter", slash + "/".join(part) + end


def _bodies(body: bytes) -> Iterator[tuple[str, bytes]]:
    if body:
        yield "body_empty", b""
    for other in (body + b"\n", body.strip(), body.replace(b"\n", b"\r\n")):
        yield "body_whitespace", other
    if len(body) > LONGEST_FORMATTED:
        return
    with suppress(ValueError):  # it isn't JSON
        document = bounded_json.loads(body.decode())
        for layout, is_ascii, is_sorted in product(LAYOUTS, (False, True), (False, True)):
            text = json.dumps(document, ensure_ascii=is_ascii, sort_keys=is_sorted, **layout)  # type: ignore[arg-type]
            yield "body_reserialised", text.encode(errors="surrogatepass")


def _keys(secret: str, public_id: str) -> Iterator[tuple[str, str]]:
    yield "public_id_as_key", public_id
    yield from (("key_whitespace", secret + end) for end in ("\n", "\r\n", " "))
    yield from (("key_incomplete", part) for part in (secret.rpartition("_")[2], secret.removeprefix("sk_")))


def _in_milliseconds(text: str) -> Iterator[str]:
    """Yield the string with each time in milliseconds that is this second, cut or rounded."""
    timestamp, _, rest = text.partition("\n")
    start = int(timestamp) * MILLISECONDS
    for milliseconds in range(start - MILLISECONDS // 2, start + MILLISECONDS):
        yield f"{milliseconds}\n{rest}"
