"""Who has confirmed recently that it is still them, and what happens to a request of somebody who has not.

A session lives for a working day; a screen is left alone sooner. Which addresses ask is declared in
`config.addresses`, and `config.reauthentication` asks. What was posted is kept until the person has confirmed, and
is then shown again with a button: a request is never repeated without its sender pressing that button.
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

from dashboard.own_path import is_own_path
from merchants import fields
from merchants.masking import mask_card_numbers

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

KEPT = "dashboard.kept_form"  # in the session
NEVER_KEPT = ("password", "secret", "credential", "csrfmiddlewaretoken")
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
UNSHOWN = ("once", "made", "step")  # what our forms carry besides what people enter


def is_recent(request: HttpRequest) -> bool:
    """Tell whether this session's person has given a password or a second factor recently, signing in included."""
    records = get_authentication_records(request, request.user)
    moments = [record["at"] for record in records]
    return bool(moments) and time.time() - max(moments) < settings.ACCOUNT_REAUTHENTICATION_TIMEOUT


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptForm:
    """A form that was submitted too long after the last confirmation. Nothing of it has been done."""

    path: str
    page: str  # that the form was on
    act: str  # what it asks for, such as "refund a payment"
    fields: list[tuple[str, list[str]]] | None  # None: they are not kept, and the form is filled in again
    at: float

    @property
    def shown(self) -> list[tuple[str, str]]:
        """Return what the person entered, with names as people read them."""
        return [
            (name.replace("_", " ").replace("-", " ").strip().capitalize(), ", ".join(values)[:200])
            for name, values in self.fields or []
            if any(values) and name not in UNSHOWN and not name.endswith("_FORMS")
        ]


def ask(request: HttpRequest, *, act: str) -> HttpResponse:
    """Keep what was posted, and send the person to the page that asks who they are."""
    ways = get_adapter().get_reauthentication_methods(request.user)
    if not ways:
        messages.warning(request, "Choose a password first: with it you confirm that it is you.")
        return redirect("account_reset_password")
    then = request.get_full_path()
    if request.method not in SAFE_METHODS:
        _keep(request, act)
        then = reverse("kept-form")
    return redirect(f"{ways[0]['url']}?{urlencode({'next': then})}")


def _keep(request: HttpRequest, act: str) -> None:
    entered = [
        (name, request.POST.getlist(name))
        for name in request.POST
        if not any(part in name.lower() for part in NEVER_KEPT)
    ]
    values = [value for _, each in entered for value in each]
    may_be_kept = (
        request.method == "POST"
        and len(entered) == len(set(request.POST) - {"csrfmiddlewaretoken"})
        and not any(_may_hold_card_number(value) for value in values)
    )
    kept = {
        "path": request.get_full_path(),
        "page": _page_of(request),
        "act": act,
        "fields": entered if may_be_kept else None,
        "at": time.time(),
    }
    request.session[KEPT] = fields.encrypt(json.dumps(kept))  # sessions are rows in the database


def _may_hold_card_number(text: str) -> bool:
    """Tell whether a card number may be in a text. The digits of an id are none, whatever they add up to."""
    return not UUID.fullmatch(text) and mask_card_numbers(text) != text


def _page_of(request: HttpRequest) -> str:
    """Return the page that a form was on; browsers name it, and only to ourselves."""
    referer = urlsplit(request.headers.get("Referer", ""))
    path = f"{referer.path}?{referer.query}" if referer.query else referer.path
    if referer.netloc == request.get_host() and is_own_path(path):
        return path
    return reverse("overview")


def kept_form(request: HttpRequest) -> KeptForm | None:
    """Return what is kept for this session, for as long as a confirmation lasts."""
    if KEPT not in request.session:
        return None
    try:
        form = KeptForm(**json.loads(fields.decrypt(request.session[KEPT])))
    except fields.UnreadableSecret:
        return None
    if time.time() - form.at > settings.ACCOUNT_REAUTHENTICATION_TIMEOUT or not is_own_path(form.path):
        return None
    return form


def drop_kept_form(request: HttpRequest) -> None:
    """Forget what was kept once it is sent again."""
    form = kept_form(request)
    if form is not None and form.path == request.get_full_path():
        del request.session[KEPT]
