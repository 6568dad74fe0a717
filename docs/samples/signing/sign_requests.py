"""Sign requests made with the requests library: `session.auth = SluiceAuth(api_key, secret_key)`.

SLUICE_API_KEY=pk_... SLUICE_SECRET_KEY=sk_... python3 sign_requests.py METHOD TARGET < body
prints the headers of such a request.
"""

import hashlib
import hmac
import os
import secrets
import sys
import time

import requests
from requests.auth import AuthBase


class SluiceAuth(AuthBase):
    """Signs each request as it is about to be sent: its final path, query and bytes."""

    def __init__(self, api_key: str, secret_key: str) -> None:
        self.api_key = api_key
        self.secret_key = secret_key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        return self.sign(request, timestamp=str(int(time.time())), nonce=secrets.token_urlsafe(18))

    def sign(
        self, request: requests.PreparedRequest, *, timestamp: str, nonce: str
    ) -> requests.PreparedRequest:
        body = request.body or b""
        if isinstance(body, str):
            body = body.encode()
        body_hash = hashlib.sha256(body).hexdigest()
        text = "\n".join([timestamp, nonce, request.method or "", request.path_url, body_hash])
        request.headers["X-Api-Key"] = self.api_key
        request.headers["X-Timestamp"] = timestamp
        request.headers["X-Nonce"] = nonce
        request.headers["X-Signature"] = hmac.digest(self.secret_key.encode(), text.encode(), "sha256").hex()
        return request


if __name__ == "__main__":
    method, target, sent = sys.argv[1], sys.argv[2], sys.stdin.buffer.read()
    auth = SluiceAuth(os.environ["SLUICE_API_KEY"], os.environ["SLUICE_SECRET_KEY"])
    signed = auth.sign(
        requests.Request(method, f"http://127.0.0.1:8000{target}", data=sent).prepare(),
        timestamp=os.environ.get("SLUICE_TIMESTAMP") or str(int(time.time())),
        nonce=os.environ.get("SLUICE_NONCE") or secrets.token_urlsafe(18),
    )
    for name in ("X-Api-Key", "X-Timestamp", "X-Nonce", "X-Signature"):
        print(f"{name}: {signed.headers[name]}")
