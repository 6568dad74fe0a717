"""Signed calls to our own API, as a merchant's server makes them, but without the network."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.test import Client

from kit.files import bounded_json
from kit.text.masking import mask_card_numbers
from merchants.api.curl import sign_call
from merchants.models import ApiKey

CVV = re.compile(r'("cvv"\s*:\s*")[^"]*')


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request, its string to sign, and the response. Card numbers are masked."""

    string_to_sign: str  # empty if the request isn't signed
    request: str
    http_status: HTTPStatus
    milliseconds: float
    response: str
    document: dict[str, Any]  # the response; empty if it is not a JSON object

    @property
    def head(self) -> str:
        """Return the request without its body."""
        return self.request.partition("\n\n")[0]

    @property
    def status(self) -> str:
        return f"{self.http_status.value} {self.http_status.phrase}"


def call(*, key: ApiKey, method: str = "POST", target: str, body: str = "") -> Call:
    """Send a request through the whole middleware and view stack, signature check included."""
    signed = sign_call(key=key, method=method, target=target, body=body)
    head = [f"{method} {target}", *(f"{name}: {value}" for name, value in signed.headers.items())]
    if body:
        head += ["Content-Type: application/json", "", body]
    return _send(
        method,
        target,
        body,
        content_type="application/json",
        headers=signed.headers,
        shown="\n".join(head),
        string_to_sign=signed.string_to_sign,
    )


def answer_as_payer(*, target: str, form: Mapping[str, str]) -> Call:
    """Send the payer's form on a 3-D Secure page, without a signature."""
    body = "&".join(f"{name}={value}" for name, value in form.items())
    kind = "application/x-www-form-urlencoded"
    shown = f"POST {target}\nContent-Type: {kind}\n\n{body}"
    return _send("POST", target, body, content_type=kind, headers={}, shown=shown)


def _send(
    method: str,
    target: str,
    body: str,
    *,
    content_type: str,
    headers: dict[str, str],
    shown: str,
    string_to_sign: str = "",
) -> Call:
    client = Client(raise_request_exception=False)
    began = time.perf_counter()
    response = client.generic(method, target, body.encode(), content_type=content_type, headers=headers)
    milliseconds = (time.perf_counter() - began) * 1000
    is_page = response.headers.get("Content-Type", "").startswith("text/html")
    text = "" if is_page else response.content.decode(errors="replace")
    document = _document(text)
    return Call(
        string_to_sign=string_to_sign,
        request=_masked(shown),
        http_status=HTTPStatus(response.status_code),
        milliseconds=milliseconds,
        response=json.dumps(document, indent=2, ensure_ascii=False) if document else text,
        document=document,
    )


def _masked(text: str) -> str:
    return CVV.sub(r"\1***", mask_card_numbers(text))


def _document(text: str) -> dict[str, Any]:
    try:
        found = bounded_json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
