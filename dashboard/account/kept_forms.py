"""Ask the user to reauthenticate, and keep the form that was submitted meanwhile.

A session lasts a working day, and screens are left unattended sooner. Views declare whether they require recent
reauthentication, and `config.access_middleware` enforces it. A submitted form is kept until the user has confirmed, and
is then shown with a button: it is never submitted again without the user pressing that button.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import get_authentication_records
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from dashboard.account.safe_redirect import is_safe_path
from dashboard.memberships import FORM_BUSINESS, SAFE_METHODS, find_membership
from kit.db import encrypted_field
from kit.files import bounded_json
from kit.text.masking import has_card_number
from merchants.models import User

KEPT = "dashboard.kept_form"  # in the session
NEVER_KEPT = ("password", "secret", "credential", "csrfmiddlewaretoken")  # parts of names of fields
FIELDS_OF_PAGES = {"csrfmiddlewaretoken", FORM_BUSINESS}  # the page of the kept form has its own
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_recent(request: HttpRequest) -> bool:
    """Return whether the user entered a password or second factor in this session recently, sign-in included."""
    records = get_authentication_records(request, request.user)
    moments = [record["at"] for record in records]
    return bool(moments) and time.time() - max(moments) < settings.ACCOUNT_REAUTHENTICATION_TIMEOUT


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptForm:
    """A form that was submitted too long after the last confirmation. It has had no effect."""

    path: str
    page: str  # address of the page with the form
    action: str  # what the form does, such as "refund a payment"
    fields: list[tuple[str, list[str]]] | None  # None: not kept, the user fills in the form again
    business: str | None  # id of the business that was chosen; None for a user who belongs to none
    at: float


def require_reauthentication(request: HttpRequest, *, action: str) -> HttpResponse:
    """Keep the submitted form, and redirect to the confirmation page."""
    methods = get_adapter().get_reauthentication_methods(request.user)
    if not methods:
        messages.warning(request, "Set a password first. You'll need it to confirm your identity.")
        return redirect("account_reset_password")
    then = request.get_full_path()
    if request.method not in SAFE_METHODS:
        _keep(request, action)
        then = reverse("kept-form")
    return redirect(f"{methods[0]['url']}?{urlencode({'next': then})}")


def _keep(request: HttpRequest, action: str) -> None:
    entered = [
        (name, request.POST.getlist(name))
        for name in request.POST
        if name not in ("code", FORM_BUSINESS) and not any(part in name.lower() for part in NEVER_KEPT)
    ]
    values = [value for _, each in entered for value in each]
    may_be_kept = (
        request.method == "POST"
        and len(entered) == len(set(request.POST) - FIELDS_OF_PAGES)
        and not any(_may_hold_card_number(value) for value in values)
    )
    kept = {
        "path": request.get_full_path(),
        "page": _page_of(request),
        "action": action,
        "fields": entered if may_be_kept else None,
        "business": _business_of(request),
        "at": time.time(),
    }
    request.session[KEPT] = encrypted_field.encrypt(json.dumps(kept))  # sessions are rows in the database


def _business_of(request: HttpRequest) -> str | None:
    membership = find_membership(request, request.user) if isinstance(request.user, User) else None
    return str(membership.business.pk) if membership else None


def _may_hold_card_number(text: str) -> bool:
    """Return whether a text may hold a card number. A UUID doesn't, even if its digits pass the Luhn check."""
    return not UUID.fullmatch(text) and has_card_number(text)


def _page_of(request: HttpRequest) -> str:
    """Return the address of the page with the form, from the `Referer` header."""
    referer = urlsplit(request.headers.get("Referer", ""))
    path = f"{referer.path}?{referer.query}" if referer.query else referer.path
    if referer.netloc == request.get_host() and is_safe_path(path):
        return path
    return reverse("overview")


def kept_form(request: HttpRequest) -> KeptForm | None:
    """Return the form kept in this session, unless it is older than a confirmation lasts.

    Nor is it returned after another business was chosen, or the chosen one closed: its address doesn't name the
    business, so it would act in the other one.
    """
    if KEPT not in request.session:
        return None
    try:
        sealed = request.session[KEPT]
        form = KeptForm(**bounded_json.loads(encrypted_field.decrypt_uncached(sealed)))
    except (encrypted_field.UnreadableSecret, TypeError):  # TypeError: of another release
        return None
    if time.time() - form.at > settings.ACCOUNT_REAUTHENTICATION_TIMEOUT or not is_safe_path(form.path):
        return None
    return form if form.business == _business_of(request) else None


def drop_kept_form(request: HttpRequest) -> None:
    """Delete the kept form when it is submitted again."""
    form = kept_form(request)
    if form is not None and form.path == request.get_full_path():
        del request.session[KEPT]
