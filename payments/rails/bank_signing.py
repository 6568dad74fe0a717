"""Signatures of requests to the bank and of its responses: hex HMAC-SHA256 with a shared key.

A request's signature covers the timestamp, the method, the target and the body. A response's covers the body and
the request's signature, so that a response can't be replayed for another request.

>>> asked = request_signature("key", timestamp="1767261600", method="GET", target="/transfers/1", body=b"")
>>> asked[:16], answer_signature("key", asked=asked, body=b"{}")[:16]
('378d3b1c93681b4f', '382ffc2c29182948')
"""

import hashlib
import hmac

CLIENT_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER = "X-Client-Id", "X-Timestamp", "X-Signature"


def request_signature(key: str, *, timestamp: str, method: str, target: str, body: bytes) -> str:
    return _sign(key, timestamp, method, target, hashlib.sha256(body).hexdigest())


def answer_signature(key: str, *, asked: str, body: bytes) -> str:
    return _sign(key, asked, hashlib.sha256(body).hexdigest())


def is_signed(given: str, expected: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())


def _sign(key: str, *parts: str) -> str:
    return hmac.new(key.encode(), "\n".join(parts).encode(), hashlib.sha256).hexdigest()
