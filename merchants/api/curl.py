"""Signed requests as headers and as a curl command line."""

import secrets
import shlex
import time
from dataclasses import dataclass

from django.conf import settings

from merchants.api import signing
from merchants.models import ApiKey


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedCall:
    """A signed call, valid for five minutes and one use."""

    method: str
    target: str
    body: str
    headers: dict[str, str]
    string_to_sign: str

    def curl_line(self) -> str:
        headers = dict(self.headers)
        data = []
        if self.body:
            headers["Content-Type"] = "application/json"
            data = ["--data-binary", self.body]
        parts = [part for name, value in headers.items() for part in ("-H", f"{name}: {value}")]
        return shlex.join(
            ["curl", "-sS", "-X", self.method, *parts, *data, settings.PUBLIC_URL + self.target]
        )


def sign_call(
    *,
    key: ApiKey,
    method: str,
    target: str,
    body: str = "",
    timestamp: str | None = None,
    nonce: str | None = None,
) -> SignedCall:
    """Sign a call with a key pair. The timestamp defaults to now, the nonce to a random one.

    Bytes of the body that are not UTF-8 are represented as lone surrogates, as in `sys.argv`.
    """
    timestamp = timestamp or str(int(time.time()))
    nonce = nonce or secrets.token_urlsafe(18)
    text = signing.string_to_sign(
        timestamp=timestamp,
        nonce=nonce,
        method=method,
        target=target,
        body=body.encode(errors="surrogateescape"),
    )
    headers = {
        "X-Api-Key": key.public_id,
        "X-Timestamp": timestamp,
        "X-Nonce": nonce,
        "X-Signature": signing.sign(key.secret, text),
    }
    return SignedCall(method=method.upper(), target=target, body=body, headers=headers, string_to_sign=text)
