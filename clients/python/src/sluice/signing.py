r"""Signatures of API requests. Pure functions, so that any HTTP client can use them.

Five parts, joined by line feeds, are signed with the secret key: timestamp, nonce, method, request target exactly as it
is sent, and the SHA-256 of the raw body. The target must go out byte for byte as it was signed: many HTTP clients
rewrite `%3a` to `%3A`.

>>> text = string_to_sign(
...     timestamp="1767225602", nonce="A1b2C3d4E5f6G7h8", method="GET", target="/api/banks", body=b"")
>>> text.split("\n")[3:]
['/api/banks', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855']
>>> sign("sk_sandbox_9hX2mVq7Tt0bJrWc4YzLpN8sKdE3uFgA5iRoQ1wCxZM", text)
'9fa2b886c6e606fd1f771bc3fc22a8916536bb63dc2709d1e9764dd550f372d1'
"""

import hashlib
import hmac
import secrets
import time
from urllib.parse import quote

# Printable ASCII is sent as it is, `%` included.
SENT_AS_IT_IS = "".join(map(chr, range(0x21, 0x7F)))


def encoded(target: str) -> str:
    """Return a target that can be sent: blanks, control characters and what is not ASCII become `%` and hex digits.

    >>> encoded("/api/payments?a=%3a~:b c\u00e9")
    '/api/payments?a=%3a~:b%20c%C3%A9'
    """
    return quote(target, safe=SENT_AS_IT_IS)


def string_to_sign(*, timestamp: str, nonce: str, method: str, target: str, body: bytes) -> str:
    """Return the text that is signed. `target` is the path, and `?query` if there is one."""
    return "\n".join((timestamp, nonce, method.upper(), target, hashlib.sha256(body).hexdigest()))


def sign(secret_key: str, text: str) -> str:
    """Return the lower-case hex HMAC-SHA256 of the text, keyed with the text of the secret key."""
    return hmac.digest(secret_key.encode(), text.encode(), "sha256").hex()


def headers(
    *,
    api_key: str,
    secret_key: str,
    method: str,
    target: str,
    body: bytes = b"",
    timestamp: int | None = None,
    nonce: str | None = None,
) -> dict[str, str]:
    """Return the four headers of a signed request, valid for five minutes and one use.

    `timestamp` is in Unix seconds, by default now; `nonce` has 16 to 128 characters of `A-Z a-z 0-9 - _`, by default
    random.
    """
    at = str(int(time.time()) if timestamp is None else timestamp)
    once = secrets.token_urlsafe(18) if nonce is None else nonce
    text = string_to_sign(timestamp=at, nonce=once, method=method, target=target, body=body)
    return {
        "X-Api-Key": api_key,
        "X-Timestamp": at,
        "X-Nonce": once,
        "X-Signature": sign(secret_key, text),
    }
