"""Tell whether a webhook is genuine.

WEBHOOK_HASH_KEY=whk_... python3 verify.py SIGNATURE < body
"""

import hmac
import os
import sys


def is_genuine(hash_key: str, signature: str, body: bytes) -> bool:
    """Compare the X-Service-Signature header with our own, in constant time."""
    expected = hmac.digest(hash_key.encode(), body, "sha256").hex()
    return hmac.compare_digest(expected.encode(), signature.encode(errors="replace"))


if __name__ == "__main__":
    if is_genuine(os.environ["WEBHOOK_HASH_KEY"], sys.argv[1], sys.stdin.buffer.read()):
        print("valid")
    else:
        print("invalid")
        sys.exit(1)
