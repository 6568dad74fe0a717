"""Signatures of a delivery: HMAC-SHA256 of the raw body, keyed with the merchant's hash key.

Standard Webhooks signs the id and the time of the attempt too.

>>> sign("whk_sandbox_Zk3W9sT1vXq8LrB6yNc0MdH5uJf2GaP7eQo4iRzVxK", b"")
'48f5e275a180c20bf7fc0c8c561ae8f3451bcb9d28109f53dd456aa94ed42dda'
"""

import hmac
from base64 import b64encode
from datetime import datetime
from uuid import UUID


def sign(hash_key: str, body: bytes) -> str:
    """Return the lower-case hex signature of a body's bytes."""
    return hmac.digest(hash_key.encode(), body, "sha256").hex()


def keys_at(at: datetime, *, key: str, previous: str | None, previous_ends_at: datetime | None) -> list[str]:
    """Return the keys that sign at a time: the current one, and the one before until the overlap of its rotation ends."""
    overlaps = previous is not None and previous_ends_at is not None and at < previous_ends_at
    return [key, previous] if previous and overlaps else [key]


def standard_headers(keys: list[str], *, delivery_id: UUID, at: datetime, body: bytes) -> dict[str, str]:
    """Return the headers of Standard Webhooks for an attempt at this time, with a signature for each key."""
    message, timestamp = str(delivery_id), str(int(at.timestamp()))
    signed = f"{message}.{timestamp}.".encode() + body
    signatures = [b64encode(hmac.digest(key.encode(), signed, "sha256")).decode() for key in keys]
    return {
        "webhook-id": message,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }


def standard_secret(hash_key: str) -> str:
    """Return a key as libraries of Standard Webhooks take it.

    >>> standard_secret("whk_sandbox_1")
    'whsec_d2hrX3NhbmRib3hfMQ=='
    """
    return f"whsec_{b64encode(hash_key.encode()).decode()}"
