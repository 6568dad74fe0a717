r"""Signatures of API requests.

Five parts, joined by line feeds, are signed with the secret key: timestamp, nonce, method, request target exactly as
sent, and the SHA-256 of the raw body. The string contains no card number and may be logged.

>>> text = string_to_sign(
...     timestamp="1767225602", nonce="A1b2C3d4E5f6G7h8", method="GET", target="/api/banks", body=b"")
>>> text.split("\n")[3:]
['/api/banks', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855']
>>> sign("sk_sandbox_9hX2mVq7Tt0bJrWc4YzLpN8sKdE3uFgA5iRoQ1wCxZM", text)
'9fa2b886c6e606fd1f771bc3fc22a8916536bb63dc2709d1e9764dd550f372d1'

In the sandbox, a 401 `invalid_signature` response contains the string that the server signed. Compare it with your
own, line by line.
"""

import hashlib
import hmac


def string_to_sign(*, timestamp: str, nonce: str, method: str, target: str, body: bytes) -> str:
    return "\n".join((timestamp, nonce, method.upper(), target, hashlib.sha256(body).hexdigest()))


def sign(secret_key: str, text: str) -> str:
    """Return the lower-case hex HMAC-SHA256 of the text, keyed with the secret key's own text."""
    return hmac.digest(secret_key.encode(), text.encode("utf-8", "surrogateescape"), "sha256").hex()


def is_signature(signature: str, *, secret_key: str, text: str) -> bool:
    """Return, in constant time, whether the signature (hex, in either case) matches the text."""
    expected = sign(secret_key, text)
    # Bytes: compare_digest raises on a str that is not ASCII.
    return hmac.compare_digest(signature.lower().encode(), expected.encode())


def is_same_secret(given: str, secret_key: str) -> bool:
    """Return, in constant time, whether two secrets are equal."""
    return hmac.compare_digest(given.encode(errors="surrogatepass"), secret_key.encode())
