"""Authentication of signed API requests. The order of the checks is documented in `docs/signing.md`."""

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

import structlog
from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from rest_framework import status
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from kit.api.errors import Problem
from kit.text.masking import mask_target
from merchants.api import nonces, signature_mistakes, signing
from merchants.api.api_requests import noted_on
from merchants.api.key_cache import key_cache
from merchants.api.signature_mistakes import Signed
from merchants.api.signed_headers import HEADERS, form_error
from merchants.models import ApiKey, Business

SCHEME = "Sluice-HMAC-SHA256"


class Unauthenticated(Problem):
    """The request is not authenticated."""

    status_code = status.HTTP_401_UNAUTHORIZED
    auth_header = SCHEME  # DRF sets it only on its own exceptions


class MissingHeader(Unauthenticated):
    default_code = "missing_header"
    default_detail = "X-Api-Key, X-Timestamp, X-Nonce and X-Signature are all required."


class MalformedHeader(Unauthenticated):
    default_code = "malformed_header"
    default_detail = "An authentication header is malformed, or was sent more than once."


class UnknownKey(Unauthenticated):
    default_code = "unknown_key"
    default_detail = "No active key pair has this X-Api-Key: it was revoked, has expired, or belongs to another installation."


class TimestampOutOfRange(Unauthenticated):
    default_code = "timestamp_out_of_range"
    default_detail = "The timestamp is too far from the server's clock."


class InvalidSignature(Unauthenticated):
    default_code = "invalid_signature"
    default_detail = "The signature does not match."


class NonceReused(Unauthenticated):
    default_code = "nonce_reused"
    default_detail = "This X-Nonce was used before with this key. Sign again with a new one."


META_NAMES = {name: "HTTP_" + name.upper().replace("-", "_") for name in HEADERS}

# Replaces the secret of an unknown key, so that the response takes the same time.
DUMMY_SECRET = "sk_dummy_" + "0" * 43


class SignedRequest(BaseAuthentication):
    """Accept a request signed with an active key pair; `request.user` is its business."""

    def authenticate(self, request: Request) -> tuple[Business, ApiKey]:
        now = timezone.now()
        signed = _signed(request)
        cached = key_cache.get(signed.api_key_id)
        _note_key(request, cached)
        is_right = cached is not None and signed.is_by(cached)
        if (
            cached is not None
            and is_right
            and _is_in_time(signed.timestamp)
            and _use(cached, signed.nonce, now)
        ):
            return _accepted(request, cached)
        # The key is not cached, or the request is invalid. From here on, only the database counts.
        api_key = key_cache.fetch(signed.api_key_id, now=now)
        if cached is None:  # one HMAC per request, so that the time doesn't reveal whether the key exists
            is_right = signed.is_by(api_key)
        if api_key is None:
            raise _unknown(signed.api_key_id)
        _note_key(request, api_key)
        if not _is_in_time(signed.timestamp):
            raise out_of_range(signed.timestamp)
        if not is_right:
            raise InvalidSignature(**(_explained(request, api_key, signed) if settings.SANDBOX else {}))
        if not _use(api_key, signed.nonce, now):
            raise NonceReused
        return _accepted(request, api_key)

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


@dataclass(frozen=True, slots=True)
class _SignedText:
    """The authentication headers of a request, and the text that it should have signed."""

    api_key_id: str
    timestamp: str
    nonce: str
    signature: str
    text: str

    def is_by(self, api_key: ApiKey | None) -> bool:
        """Return whether a key has signed the text. An unknown key takes the same time."""
        secret_key = DUMMY_SECRET if api_key is None else api_key.secret
        return signing.is_signature(self.signature, secret_key=secret_key, text=self.text)


def _signed(request: Request) -> _SignedText:
    api_key_id, timestamp, nonce, signature = _headers(request.META)
    text = signing.string_to_sign(
        timestamp=timestamp,
        nonce=nonce,
        method=request.method or "",
        target=request_target(request),
        body=request.body,
    )
    return _SignedText(api_key_id, timestamp, nonce, signature, text)


def _note_key(request: Request, api_key: ApiKey | None) -> None:
    """Store the named key on the request for the request log. The signature may be wrong."""
    noted_on(request).api_key = api_key


def _accepted(request: Request, api_key: ApiKey) -> tuple[Business, ApiKey]:
    """Return the authenticated business and key, and add them to the request's log lines."""
    structlog.contextvars.bind_contextvars(business=str(api_key.business_id))
    noted_on(request).is_authentic = True
    return api_key.business, api_key


def request_target(request: Request | HttpRequest) -> str:
    """Return the path and query exactly as sent."""
    raw: str | None = request.META.get("RAW_URI", request.META.get("REQUEST_URI"))  # gunicorn's, waitress's
    if raw is not None:
        # WSGI decodes bytes as Latin-1; the client signed them as UTF-8.
        return raw if raw.isascii() else raw.encode("latin-1").decode(errors="surrogateescape")
    query = request.META.get("QUERY_STRING", "")
    return quote(request.path, safe="/:@!$&'()*+,;=~") + (f"?{query}" if query else "")


def _explained(request: Request, api_key: ApiKey, signed: _SignedText) -> dict[str, Any]:
    """Return the string to sign for a response, and the known mistake that leads to the signature, if one does."""
    mistake = signature_mistakes.find(
        signed.signature,
        Signed(
            timestamp=signed.timestamp,
            nonce=signed.nonce,
            method=request.method or "",
            target=request_target(request),
            body=request.body,
            host=request.get_host(),
        ),
        secret=api_key.secret,
        public_id=api_key.public_id,
        other_secrets=signature_mistakes.other_secrets_of(api_key),
    )
    return {"string_to_sign": _shown(signed.text)} | (
        {"mistake": {"code": mistake.code, "message": mistake.message}} if mistake else {}
    )


def _shown(string_to_sign: str) -> str:
    """Return a string to sign for a response, with card numbers in the target masked."""
    *before, target, body_hash = string_to_sign.rsplit("\n", 2)
    target = mask_target(target).encode(errors="replace").decode()
    return "\n".join([*before, target, body_hash])


def _unknown(api_key_id: str) -> UnknownKey:
    """Return the error of an unknown key. Keys name their environment, so that it can say where one belongs."""
    here, other = ("sandbox", "live") if settings.SANDBOX else ("live", "sandbox")
    if api_key_id.startswith(f"pk_{other}_"):
        return UnknownKey(
            f"This key pair belongs to another environment. Keys of this one begin with pk_{here}_."
        )
    return UnknownKey()


def _headers(meta: dict[str, Any]) -> list[str]:
    values = {name: meta.get(META_NAMES[name], "") for name in HEADERS}
    missing = [name for name, value in values.items() if not value]
    if len(missing) == len(HEADERS) and meta.get("HTTP_AUTHORIZATION"):
        raise MissingHeader(
            "The Authorization header is not used: sign the request, and send X-Api-Key, X-Timestamp, X-Nonce and "
            f"X-Signature. See {settings.PUBLIC_URL}/docs/signing."
        )
    if missing:
        raise MissingHeader(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing.")
    for name, form in HEADERS.items():
        if not form.match(values[name]):
            raise MalformedHeader(form_error(name, values[name]))
    return list(values.values())


def _is_in_time(timestamp: str) -> bool:
    return abs(int(time.time()) - int(timestamp)) <= settings.SIGNATURE_TOLERANCE


def out_of_range(timestamp: str, *, header: str = "X-Timestamp") -> TimestampOutOfRange:
    """Return the error for a timestamp too far from the server's clock, with its distance and direction."""
    server_time = int(time.time())
    away = int(timestamp) - server_time
    return TimestampOutOfRange(
        f"{header} is {abs(away)} seconds {'ahead of' if away > 0 else 'behind'} the server's clock; send Unix "
        f"seconds within ±{settings.SIGNATURE_TOLERANCE} s of it. server_time is the server's clock.",
        server_time=server_time,
    )


def _use(api_key: ApiKey, nonce: str, now: datetime) -> bool:
    """Record the nonce if it is new and the key is still valid."""
    if not nonces.use(nonce, api_key=api_key, now=now):
        return False
    if api_key.last_used_at is None:  # the first use is recorded at once, later ones by the request log
        ApiKey.objects.filter(pk=api_key.pk).update(last_used_at=now)
        api_key.last_used_at = now
    return True
