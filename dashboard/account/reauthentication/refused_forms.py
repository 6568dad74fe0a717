"""A form that was submitted too long after the last confirmation, as it is shown again. Nothing of it is stored."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.http import HttpRequest
from django.urls import reverse

from dashboard.account.safe_redirect import is_safe_path
from dashboard.memberships import FORM_BUSINESS
from kit.text.masking import has_card_number

NEVER_SHOWN = ("password", "secret", "credential", "csrfmiddlewaretoken")  # parts of names of fields
FIELDS_OF_PAGES = {"csrfmiddlewaretoken", FORM_BUSINESS}  # the page that shows the form has its own
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedForm:
    """A submitted form that had no effect."""

    path: str
    page: str  # address of the page with the form
    action: str  # what the form does, such as "refund a payment"
    fields: list[tuple[str, list[str]]] | None  # None: not shown again, the user fills in the form again


def refused_form(request: HttpRequest, *, action: str) -> RefusedForm:
    """Return the form of a request. One with a password, a code or a card number isn't shown again."""
    entered = [
        (name, request.POST.getlist(name))
        for name in request.POST
        if name not in ("code", FORM_BUSINESS) and not any(part in name.lower() for part in NEVER_SHOWN)
    ]
    is_shown = len(entered) == len(set(request.POST) - FIELDS_OF_PAGES) and not any(
        _may_hold_card_number(value) for _, values in entered for value in values
    )
    return RefusedForm(
        path=request.get_full_path(),
        page=_page_of(request),
        action=action,
        fields=entered if is_shown else None,
    )


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
