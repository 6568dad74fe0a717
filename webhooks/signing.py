"""Signature of a delivery: HMAC-SHA256 of the raw body, keyed with the merchant's hash key.

>>> sign("whk_sandbox_Zk3W9sT1vXq8LrB6yNc0MdH5uJf2GaP7eQo4iRzVxK", b"")
'48f5e275a180c20bf7fc0c8c561ae8f3451bcb9d28109f53dd456aa94ed42dda'
"""

import hmac


def sign(hash_key: str, body: bytes) -> str:
    """Return the lower-case hex signature of a body's bytes."""
    return hmac.digest(hash_key.encode(), body, "sha256").hex()
