"""Signed calls to our own API, as a merchant's server makes them, but without the network."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.test import Client

from kit import bounded_json
from kit.masking import mask_card_numbers
from merchants.curl import sign_call
from merchants.models import ApiKey

CVV = re.compile(r'("cvv"\s*:\s*")[^"]*')


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request, its string to sign, and the response. Card numbers are masked."""

    string_to_sign: str
    request: str
    status: str
    response: str
    document: dict[str, Any]


def call(*, key: ApiKey, target: str, body: str) -> Call:
    """Send a POST through the whole middleware and view stack, signature check included."""
    signed = sign_call(key=key, method="POST", target=target, body=body)
    client = Client(raise_request_exception=False)
    response = client.generic(
        "POST", target, body.encode(), content_type="application/json", headers=signed.headers
    )
    head = [f"POST {target}", *(f"{name}: {value}" for name, value in signed.headers.items())]
    status = HTTPStatus(response.status_code)
    text = response.content.decode(errors="replace")
    document = _document(text)
    return Call(
        string_to_sign=signed.string_to_sign,
        request=_masked("\n".join([*head, "Content-Type: application/json", "", body])),
        status=f"{status.value} {status.phrase}",
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
