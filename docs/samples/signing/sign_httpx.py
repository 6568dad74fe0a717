"""Sign requests made with httpx: `httpx.Client(auth=SluiceAuth(api_key, secret_key))`.

SLUICE_API_KEY=pk_... SLUICE_SECRET_KEY=sk_... python3 sign_httpx.py METHOD TARGET < body
prints the headers of such a request.
"""

import hashlib
import hmac
import os
import secrets
import sys
import time
from collections.abc import Generator

import httpx


class SluiceAuth(httpx.Auth):
    """Signs each request as it is about to be sent: its final path, query and bytes."""

    requires_request_body = True

    def __init__(self, api_key: str, secret_key: str) -> None:
        self.api_key = api_key
        self.secret_key = secret_key

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        yield self.sign(request, timestamp=str(int(time.time())), nonce=secrets.token_urlsafe(18))

    def sign(self, request: httpx.Request, *, timestamp: str, nonce: str) -> httpx.Request:
        target = request.url.raw_path.decode("ascii")
        parts = (timestamp, nonce, request.method, target, hashlib.sha256(request.content).hexdigest())
        text = "\n".join(parts)
        request.headers["X-Api-Key"] = self.api_key
        request.headers["X-Timestamp"] = timestamp
        request.headers["X-Nonce"] = nonce
        request.headers["X-Signature"] = hmac.digest(self.secret_key.encode(), text.encode(), "sha256").hex()
        return request


if __name__ == "__main__":
    method, target, sent = sys.argv[1], sys.argv[2], sys.stdin.buffer.read()
    auth = SluiceAuth(os.environ["SLUICE_API_KEY"], os.environ["SLUICE_SECRET_KEY"])
    signed = auth.sign(
        httpx.Request(method, f"http://127.0.0.1:8000{target}", content=sent),
        timestamp=os.environ.get("SLUICE_TIMESTAMP") or str(int(time.time())),
        nonce=os.environ.get("SLUICE_NONCE") or secrets.token_urlsafe(18),
    )
    for name in ("X-Api-Key", "X-Timestamp", "X-Nonce", "X-Signature"):
        print(f"{name}: {signed.headers[name]}")
