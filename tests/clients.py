"""Signing clients, written from the specification and not from the service's own code."""

import hashlib
import hmac
import json
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

import requests
from django.test import Client


@dataclass(frozen=True)
class Credentials:
    api_key: str
    secret_key: str


def signed_headers(
    credentials: Credentials,
    method: str,
    target: str,
    body: bytes = b"",
    *,
    timestamp: str | None = None,
    nonce: str | None = None,
) -> dict[str, str]:
    timestamp = timestamp or str(int(time.time()))
    nonce = nonce or secrets.token_urlsafe(18)
    text = "\n".join([timestamp, nonce, method, target, hashlib.sha256(body).hexdigest()])
    return {
        "X-Api-Key": credentials.api_key,
        "X-Timestamp": timestamp,
        "X-Nonce": nonce,
        "X-Signature": hmac.new(credentials.secret_key.encode(), text.encode(), hashlib.sha256).hexdigest(),
    }


@dataclass
class InProcessClient:
    """Makes signed calls through Django's test client: fast, and in the test's own database transaction."""

    credentials: Credentials
    django: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    def get(self, target: str, **headers: str) -> Any:
        return self.send("GET", target, headers=headers)

    def patch(self, target: str, body: Any) -> Any:
        return self.send("PATCH", target, json.dumps(body).encode())

    def delete(self, target: str) -> Any:
        return self.send("DELETE", target)

    def post(self, target: str, body: Any = None, **headers: str) -> Any:
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.send("POST", target, raw, headers=headers)

    def send(
        self,
        method: str,
        target: str,
        body: bytes = b"",
        *,
        headers: dict[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Any:
        signed = signed_headers(self.credentials, method, target, body) | (headers or {})
        return self.django.generic(method, target, body, content_type=content_type, headers=signed)


@dataclass
class HttpClient:
    """Makes signed calls over HTTP to a running service."""

    base_url: str
    credentials: Credentials

    def get(self, target: str, **headers: str) -> requests.Response:
        return self.send("GET", target, headers=headers)

    def patch(self, target: str, body: Any) -> requests.Response:
        return self.send("PATCH", target, json.dumps(body).encode())

    def post(self, target: str, body: Any = None, **headers: str) -> requests.Response:
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.send("POST", target, raw, headers=headers)

    def send(
        self, method: str, target: str, body: bytes = b"", *, headers: dict[str, str] | None = None
    ) -> requests.Response:
        signed = signed_headers(self.credentials, method, target, body)
        if body:
            signed["Content-Type"] = "application/json"
        return requests.request(
            method, self.base_url + target, data=body, headers=signed | (headers or {}), timeout=60
        )
