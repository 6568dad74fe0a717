"""Tokens of links. Only their hashes are stored, so a copy of the database opens nothing."""

import hashlib
import secrets


def new_token() -> str:
    """Return a token of 256 random bits for a URL."""
    return secrets.token_urlsafe(32)


def hash_of(token: str) -> str:
    """Return the SHA-256 of a token, hexadecimal.

    >>> hash_of("token")[:8]
    '3c469e9d'
    """
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
