"""Print the headers that sign a request.

SLUICE_API_KEY=pk_... SLUICE_SECRET_KEY=sk_... python3 sign.py METHOD TARGET < body
"""

import hashlib
import hmac
import os
import secrets
import sys
import time


def signed_headers(
    method: str, target: str, body: bytes, *, api_key: str, secret_key: str, timestamp: str, nonce: str
) -> dict[str, str]:
    """Return the four headers. The target is path and query, exactly as they will be sent."""
    text = "\n".join([timestamp, nonce, method.upper(), target, hashlib.sha256(body).hexdigest()])
    return {
        "X-Api-Key": api_key,
        "X-Timestamp": timestamp,
        "X-Nonce": nonce,
        "X-Signature": hmac.digest(secret_key.encode(), text.encode(), "sha256").hex(),
    }


if __name__ == "__main__":
    headers = signed_headers(
        sys.argv[1],
        sys.argv[2],
        sys.stdin.buffer.read(),
        api_key=os.environ["SLUICE_API_KEY"],
        secret_key=os.environ["SLUICE_SECRET_KEY"],
        timestamp=os.environ.get("SLUICE_TIMESTAMP") or str(int(time.time())),
        nonce=os.environ.get("SLUICE_NONCE") or secrets.token_urlsafe(18),
    )
    for name, value in headers.items():
        print(f"{name}: {value}")
