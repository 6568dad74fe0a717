"""Refused forms of payers. The POST redirects to the form's page, which shows the entries and errors once more.

So browsers keep no POST in their history, and Back, reload and JavaScript-free browsers work. Entries and errors travel
in a signed cookie of this payer; the address names the cookie's id, so that other tabs don't show them. Card numbers
and codes must not be among them.
"""

import secrets
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

from payments.pages.payer_requests import SeeOther

REFUSED = "refused"  # name of the cookie, and of the parameter with its id
LIFETIME = timedelta(minutes=15)
LARGEST = 3800  # bytes: browsers ignore cookies above 4096 with name and attributes


def refuse(page: str, *, entries: dict[str, str], errors: dict[str, str], **query: str) -> HttpResponse:
    """Redirect to the page of a form that was refused. Leaves entries out that don't fit into a cookie."""
    form_id = secrets.token_urlsafe(8)
    cookie = _signed(page, [form_id, entries, errors])
    if len(cookie) > LARGEST:
        cookie = _signed(page, [form_id, {}, errors])
    response = SeeOther(f"{page}?{urlencode({**query, REFUSED: form_id})}")
    response.set_cookie(
        REFUSED,
        cookie,
        max_age=LIFETIME,
        path=page,
        secure=not settings.SANDBOX,
        httponly=True,
        samesite="Lax",
    )
    return response


def refused_form(request: HttpRequest) -> tuple[dict[str, str], dict[str, str]] | None:
    """Return entries and errors of the refused form that the address names, or None if it names none.

    Both are empty if the browser didn't keep them or has another tab's.
    """
    named = request.GET.get(REFUSED)
    if named is None:
        return None
    try:
        kept = signing.loads(request.COOKIES.get(REFUSED, ""), salt=_salt(request.path), max_age=LIFETIME)
    except signing.BadSignature:
        return {}, {}
    form_id, entries, errors = kept
    return (entries, errors) if form_id == named else ({}, {})


def _signed(page: str, kept: Any) -> str:
    return signing.dumps(kept, salt=_salt(page), compress=True)


def _salt(page: str) -> str:
    return f"{__name__}:{page}"
