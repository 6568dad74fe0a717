"""The headers of Standard Webhooks on the requests of an exam, for endpoints that receive them.

They are added when an exam begins: receivers refuse timestamps that are more than some minutes old.
"""

import secrets
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from webhooks.exams.exam import ExamRequest
from webhooks.signing import standard_headers

SIGNATURE = "webhook-signature"


def with_standard_headers(
    requests: Sequence[ExamRequest], *, hash_key: str, now: datetime
) -> list[ExamRequest]:
    """Return the requests with headers that are as right, or as wrong, as those of the service's own scheme."""
    return [
        replace(each, headers=each.headers | _headers(each, hash_key=hash_key, now=now)) for each in requests
    ]


def _headers(request: ExamRequest, *, hash_key: str, now: datetime) -> dict[str, str]:
    def signed(body: str, key: str = hash_key) -> dict[str, str]:
        event_id = UUID(request.headers["X-Service-Idempotency-Key"])
        return standard_headers([key], delivery_id=event_id, at=now, body=body.encode())

    right = signed(request.body)
    match request.probe:
        case "no_signature":
            return {name: value for name, value in right.items() if name != SIGNATURE}
        case "empty_signature":
            return right | {SIGNATURE: ""}
        case "wrong_key":
            return signed(request.body, f"whk_{secrets.token_urlsafe(32)}")
        case "altered_body":
            return signed(f"{request.body} ")  # the signature of another body
        case "odd_signatures":
            odd = b64encode(request.headers["X-Service-Signature"].encode()).decode()
            return right | {SIGNATURE: f"v1,{odd}"}  # other Base64 makes libraries fail in their own way
        case _:
            return right
